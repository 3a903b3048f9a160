/** One fetcher's work on a hundred bombs at once. argv: sink, folder, port of the site, address of a store. Prints its largest memory, bytes. */

import { fetchPage, noSink, openSink, type Sink } from '@decorum/fetcher/testing'
import { addressGuard } from '@decorum/politeness/admission'
import { systemClock } from '@decorum/protocol'
import { siteAnswers } from '@decorum/sending/robots'
import { openConnections, openLookup } from '@decorum/sending/testing'
import { agentsOf } from '../../test/fetcher/support/agents.ts'
import { pageOrder } from '../../test/fetcher/support/page-order.ts'
import { SECRET } from '../../test/fetcher/support/store-server.ts'

const [which = 'none', folder = '', port = '', endpoint = ''] = process.argv.slice(2)
const BOMBS = 100
const agents = agentsOf()
const [agent] = agents.list
if (agent === undefined) throw new Error('no agent')
const log = { info: () => {}, warn: () => {}, error: () => {} }
const settings = {
  endpoint,
  region: 'us-east-1',
  bucket: 'pages',
  prefix: '',
  accessKeyId: 'a',
  secretAccessKey: SECRET,
}
const s3 = { settings, fileBytes: 64_000_000, maxBytes: 10_000_000_000, log }
const sink: Sink = which === 'none' ? noSink : await openSink(which, { folder, agents, s3 })
const connections = openConnections({
  clock: systemClock,
  guard: addressGuard(['127.0.0.0/8']),
  lookup: openLookup(systemClock),
})
let failed = 0
const pages = Array.from({ length: BOMBS }, async (_, nth) => {
  const order = pageOrder(`http://127.0.0.${nth + 2}:${port}`, '/')
  const start = performance.now()
  const age = (): number => performance.now() - start
  const lease = {
    deadlineMs: () => 60_000 - age(),
    keepMs: () => 5_000,
    lastCheck: () => undefined,
    stillHeld: () => undefined,
    confirm: () => undefined,
  }
  const { outcome } = await fetchPage(order, agent, lease, {
    connections,
    ledger: { clock: systemClock, wall: () => Date.now(), partitionOf: () => 0 },
    siteAnswers: siteAnswers(agents),
    sink,
    pageMaxBytes: 10 * 1024 * 1024,
    maxAttempts: 1,
    stats: { sinkFailed: () => void failed++ },
    log,
  })
  return outcome?.kind === 'fetched' ? outcome.bytes : 0
})
const bytes = await Promise.all(pages)
await sink.close()
await connections.close()
const most = process.resourceUsage().maxRSS * 1024
process.stdout.write(`${JSON.stringify({ most, fetched: bytes.filter((one) => one > 0).length, failed })}\n`)
process.exit(0)
