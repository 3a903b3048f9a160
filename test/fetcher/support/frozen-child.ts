/** One exchange whose look-up waits for the parent's word, if there is a second argument, so that the parent may freeze this process meanwhile. */

import { addressGuard } from '@decorum/admission'
import { startLease } from '@decorum/fetcher/testing'
import { exchange, headersOf, openConnections } from '@decorum/sending/testing'
import { agentsOf } from './agents.ts'
import { pageOrder } from './page-order.ts'

const [port = '', waits = ''] = process.argv.slice(2)
const agent = agentsOf().default
const go = waits === '' ? undefined : new Promise((resolve) => process.once('message', resolve))
const connections = openConnections({
  guard: addressGuard(['127.0.0.0/8']),
  lookup: async () => {
    await new Promise((resolve) => setImmediate(resolve)) // the send window has begun by then
    process.send?.('looking up')
    await go
    return [{ address: '127.0.0.1', family: 4 }]
  },
})
const origin = `http://slow.example:${port}`
const started = await startLease(
  {
    start: async () => ({ kind: 'granted', leaseMs: 45_000 }),
    confirm: () => new Promise(() => {}),
    partitionOf: () => 0,
  },
  pageOrder(origin),
  { fetchDeadlineMs: 30_000, leaseMs: 45_000 },
)
if (started.kind !== 'lease') throw new Error(started.why)
const { lease } = started
const result = await exchange({
  way: connections.lane(agent, origin),
  origin,
  path: '/',
  headers: headersOf(agent),
  deadlineMs: lease.deadlineMs(),
  maxBytes: 1_000,
  lastCheck: () => lease.lastCheck(),
  confirm: () => undefined,
  keepBody: () => false,
})
process.send?.({ kind: result.kind, why: result.kind === 'not-sent' ? result.why : '' })
process.disconnect()
await connections.close()
