/** An order that waited for a worker of its pool becomes a lease, as in a fetcher; or its lane is given back. */
import { UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import type { Ledger, Resolution, StartAnswer } from '@decorum/ledger'
import { type Gate, hostOf, type Order, ordersIn } from '@decorum/protocol'
import { pause, type Since, sinceNow } from '@decorum/runtime'
import { acquireAbove, release, STOPPED_WAIT_MS } from './attempt.ts'
import { type Desk, exactly } from './desk.ts'
import type { PaceLease } from './permit-id.ts'

/** Under its lease from now on. */
export type StartedOrder = { order: Order; paceLeases: PaceLease[]; since: Since }

/** As often, and as long, as a fetcher waits for a lane that is not due yet. */
const MAX_EARLY = 8
const LONGEST_EARLY_MS = 1_000

/** @returns undefined when it cannot be carried out now: its URL stays in its lane. @throws LedgerUnavailableError */
export async function startOrder(text: string, desk: Desk): Promise<StartedOrder | undefined> {
  const read = ordersIn({ orders: [JSON.parse(text)] })?.[0]
  if (read?.ok !== true) return undefined // of a gateway of another version: the reservation ends by itself
  const { order } = read
  const { config, ledger, tools } = desk
  const agent = config.agents.find(order.agent)
  if (agent === undefined) return deferStart(order, ledger, UNKNOWN_AGENT_WAIT_MS, 'unknown-agent')
  // The ledger knows stopped hosts; which address a host is at is known here alone.
  if (ledger.stops.hasAddresses()) {
    const address = await tools.addressOf(hostOf(order.origin))
    if (ledger.stops.why(order.origin, address) !== undefined)
      return deferStart(order, ledger, STOPPED_WAIT_MS, 'stopped')
  }
  const lane = { agent: order.agent, origin: order.origin }
  const since = sinceNow()
  const above = await acquireAbove(agent, order.origin, order.delayMs, lane, tools)
  if ('waitMs' in above) return deferStart(order, ledger, above.waitMs, 'pace-group')
  const paceLane = config.paceGroups.hostLane(agent.key, order.origin)
  const { fence, version, delayMs } = order
  const asked = {
    ...lane,
    kind: 'page' as const,
    fence,
    version,
    delayMs,
    ...(paceLane === undefined ? {} : { paceLane }),
  }
  const answer = await start(asked, ledger).catch(async (error: unknown) => {
    await release(ledger, above.paceLeases)
    throw error
  })
  if (answer?.kind !== 'granted') {
    await release(ledger, above.paceLeases)
    return answer === undefined ? deferStart(order, ledger) : undefined
  }
  if (answer.waitMs !== undefined) await exactly(answer.waitMs)
  const host =
    paceLane === undefined || answer.paceLane === undefined ? [] : [{ ...paceLane, ...answer.paceLane, ofSite: true }]
  return { order, paceLeases: [...above.paceLeases, ...host], since }
}

/** undefined: it is not due for longer than is worth waiting */
async function start(asked: Parameters<Ledger['start']>[0], ledger: Ledger): Promise<StartAnswer | undefined> {
  for (let tries = 0; tries < MAX_EARLY; tries++) {
    const answer = await ledger.start(asked)
    if (answer.kind !== 'early') return answer
    if (answer.waitMs > LONGEST_EARLY_MS) return undefined
    await pause(answer.waitMs)
  }
  return undefined
}

/** The reservation ends now, and not by itself later. */
async function deferStart(
  { agent, origin, fence }: Order,
  ledger: Ledger,
  waitMs?: number,
  why: Gate = 'lane-busy',
): Promise<undefined> {
  const partition = ledger.partitionOf(origin)
  const next: Resolution['next'] =
    waitMs === undefined ? { kind: 'release' } : { kind: 'defer', until: ledger.now(partition) + waitMs, why }
  await ledger.resolve(partition, [{ agent, origin, fence, dropped: [], next }]).catch(() => undefined)
}
