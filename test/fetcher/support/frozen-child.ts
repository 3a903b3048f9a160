/** One exchange whose look-up waits for the parent's word, if there is a second argument, so that the parent may freeze this process meanwhile. */

import { loadPaceGroups } from '@decorum/politeness'
import { addressGuard } from '@decorum/politeness/admission'
import { systemClock } from '@decorum/protocol'
import { Lease, once, orderTurn } from '@decorum/sending'
import { exchange, headersOf, openConnections } from '@decorum/sending/testing'
import { agentsOf } from './agents.ts'
import { pageOrder } from './page-order.ts'

const [port = '', waits = ''] = process.argv.slice(2)
const agent = agentsOf().default
const go = waits === '' ? undefined : new Promise((resolve) => process.once('message', resolve))
const connections = openConnections({
  clock: systemClock,
  guard: addressGuard(['127.0.0.0/8']),
  lookup: async () => {
    await new Promise((resolve) => setImmediate(resolve)) // the send window has begun by then
    process.send?.('looking up')
    await go
    return [{ address: '127.0.0.1', family: 4 }]
  },
})
const origin = `http://slow.example:${port}`
const unused = async (): Promise<never> => {
  throw new Error('is not called')
}
const tools = {
  ledger: {
    start: async () => ({ kind: 'granted' as const, leaseMs: 45_000 }),
    confirm: () => new Promise<never>(() => {}),
    clock: systemClock,
    partitionOf: () => 0,
    wall: () => 0,
    stops: { why: () => undefined, hasAddresses: () => false },
    ...{
      acquire: unused,
      next: unused,
      complete: unused,
      reportLate: unused,
      resolve: unused,
      record: unused,
      endRobotsFetch: unused,
    },
  },
  groups: loadPaceGroups('{"host":false}'),
  addressOf: async () => undefined,
  reporter: () => once,
  agents: agentsOf(),
}
const turn = await orderTurn(pageOrder(origin), agent, tools)
if (turn.kind !== 'held') throw new Error(turn.kind)
const lease = new Lease(agent, turn, { fetchDeadlineMs: 30_000, leaseMs: 45_000 }, tools)
const result = await exchange({
  way: connections.lane(agent, origin),
  origin,
  path: '/',
  headers: headersOf(agent),
  deadlineMs: lease.deadlineMs(),
  maxBytes: 1_000,
  lastCheck: (address) => lease.lastCheck(address),
  confirm: () => undefined,
  keepBody: () => false,
})
process.send?.({ kind: result.kind, why: result.kind === 'not-sent' ? result.why : '' })
process.disconnect()
await connections.close()
