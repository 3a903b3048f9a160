/**
 * A fetcher without a network: real orders in, real slots, real begin and settle; where the request would be, nothing.
 * Each origin has a robots.txt of its own, of twenty lines, learned as a fetcher learns it.
 */

import { createHash, randomUUID } from 'node:crypto'
import { loadAgents } from '@decorum/config'
import { openOrdersIn, openSlots, openStats } from '@decorum/fetcher/testing'
import { linkTo, openLedger } from '@decorum/ledger'
import { effectiveDelay, loadPaceGroups } from '@decorum/politeness'
import type { Order, Outcome } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import { parseRobots, policies, step } from '@decorum/robots'
import { orderTurn, untilOver } from '@decorum/sending'
import { answerParent } from './words.ts'

const [url = '', agentsJson = ''] = process.argv.slice(2)
const agents = loadAgents({ agents: agentsJson, defaultDelayMs: 0, maxDelayMs: 10_000 })
const partitions = Number(process.env.DECORUM_PARTITIONS ?? 1)
const ledger = await openLedger({ redis: url, partitions, callDeadlineMs: 60_000 })
const slots = openSlots(systemClock, 100)
const stats = openStats(slots)
const tools = {
  ledger,
  agents,
  groups: loadPaceGroups('{"host":false}'),
  addressOf: async () => undefined,
  reporter: untilOver(systemClock, stats),
}
const id = randomUUID()
const announce = (): Promise<unknown> => ledger.announce({ id, role: 'fetcher', slots: slots.size })
const log = { warn: (fields: object, message: string) => console.error(message, fields) }

async function carryOut(order: Order): Promise<void> {
  const turn = await orderTurn(order, agents.default, tools)
  if (turn.kind === 'refused') return stats.refused(turn.why)
  if (order.kind === 'robots') return record(order)
  const { agent, origin, fence, delayMs } = order
  await ledger.complete({
    agent,
    origin,
    fence,
    delayMs,
    load: { kind: 'normal' },
    elapsedMs: 0,
    outcome: fetched(order),
  })
  counter.done()
}

/** As large as a usual one: most of what it costs Redis is its octets. */
function fetched({ id, origin, path, agent, attempt }: Order): Outcome {
  const now = Date.now()
  return {
    id,
    url: origin + path,
    agent,
    at: now,
    attempts: attempt,
    kind: 'fetched',
    status: 200,
    headers: [
      ['Date', 'Fri, 20 Nov 2026 12:00:00 GMT'],
      ['Content-Type', 'text/html; charset=utf-8'],
      ['Content-Length', '1024'],
      ['Cache-Control', 'max-age=300'],
      ['ETag', '"5f1b-60c3a1d2e4f00"'],
    ],
    bytes: 1_024,
    truncated: '',
    digest: 'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
    startedAt: now,
    ms: 0,
    address: '192.0.2.1',
  }
}

async function record({ agent, origin, fence, delayMs }: Order): Promise<void> {
  const octets = new TextEncoder().encode(robotsOf(origin))
  const hash = createHash('sha256').update(octets).digest('hex').slice(0, 32)
  const [known] = await ledger.robotsStates(ledger.partitionOf(origin), [origin])
  const state = step(known?.state ?? {}, { kind: 'answered', status: 200, hash, jitter: 0 }, Math.ceil(ledger.now()))
  const delays = agents.list.map((one) => ({
    agent: one.key,
    ...effectiveDelay(one, parseRobots(octets, { policy: policies[one.profile] })),
  }))
  await ledger.record({ agent, origin, fence, state, body: { hash, bytes: octets }, delays, delayMs, elapsedMs: 0 })
}

function robotsOf(origin: string): string {
  const forbidden = Array.from({ length: 14 }, (_, i) => `Disallow: /section-${i}/${i % 3 === 0 ? '*' : ''}private`)
  const lines = [
    `# ${origin}`,
    'User-agent: *',
    ...forbidden,
    'Allow: /articles/',
    'Disallow: /*?session=',
    '',
    `Sitemap: ${origin}/sitemap.xml`,
  ]
  return `${lines.join('\n')}\n`
}

const endUnreadable = async (): Promise<void> => undefined
openOrdersIn({
  clock: systemClock,
  tags: ledger.tags,
  connection: linkTo(url, { away: 'wait' }),
  slots,
  stats,
  carryOut,
  turnAway: () => undefined,
  endUnreadable,
  log,
})
await announce()
setInterval(() => void announce(), 1_000)
const counter = answerParent((width) => {
  slots.size = width
  void announce()
})
