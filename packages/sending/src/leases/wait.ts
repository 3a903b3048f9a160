/** Waits for the instant at which a lane may be used. */
import type { Agent } from '@decorum/config'
import type { LaneRef, Ledger, StartAnswer } from '@decorum/ledger'
import { type Clock, namesRobotsTxt, type Order } from '@decorum/protocol'
import { crashPoint, sinceNow } from '@decorum/runtime'
import { start } from '../ledger.ts'
import { type Later, type Opened, type Turn, type TurnTools, takeTurn } from './turn.ts'

/** How often `start` may answer 'early' to one order. */
const MAX_EARLY = 8
/** A longer wait means that the delay has grown: the order then gives up its slot and its pace groups. */
const LONGEST_EARLY_MS = 1_000

/** Waits at least this long, and exceeds it only by the rounding of timers to whole milliseconds. */
export async function exactly(clock: Clock, ms: number): Promise<void> {
  const until = clock.monotonic() + ms
  for (let left = ms; left > 0; left = until - clock.monotonic()) {
    await clock.sleep(Math.max(1, Math.floor(left)))
  }
}

/** The ledger has withdrawn the lane, or has not answered. */
export type StartRefusal = Extract<StartAnswer, { kind: 'refused' }>['why'] | 'ledger-unavailable'
export type Refused = { kind: 'refused'; why: StartRefusal }
/** The reservation stands: the holder of the order releases it. expired: its URL is ended when the lane is reserved again. */
export type Unused = { kind: 'unused'; why: 'too-early' | 'expired' }

export type OrderTools = TurnTools & { ledger: Pick<Ledger, 'start' | 'wall'> }

/** Waits for the turn of an order, whose lane a gateway has reserved. Returns when its request may be sent. */
export const orderTurn = (order: Order, agent: Agent, tools: OrderTools): Promise<Turn | Later | Refused | Unused> => {
  const { origin, delayMs } = order
  const asked = { agent, origin, delayMs, by: { agent: order.agent, origin } }
  return takeTurn(asked, (hostLane) => startWhenDue(order, hostLane, tools), tools)
}

async function startWhenDue(
  { agent, origin, fence, version, delayMs, kind: what, path, expiresAt = Infinity }: Order,
  hostLane: LaneRef | undefined,
  { ledger, agents }: Pick<OrderTools, 'ledger' | 'agents'>,
): Promise<Opened | Refused | Unused> {
  // A page whose URL is a robots.txt also counts as the one robots fetch of its origin.
  const kind = what === 'page' && namesRobotsTxt(path) ? ('robots-page' as const) : what
  const awaited = kind === 'page' ? {} : { awaitedBy: agents.list.map(({ key }) => key) }
  const lane = { agent, origin, fence, version, delayMs }

  for (let tries = 0; tries < MAX_EARLY; tries++) {
    if (expiresAt <= ledger.wall(ledger.partitionOf(origin))) return { kind: 'unused', why: 'expired' }
    const since = sinceNow(ledger.clock)
    crashPoint('start.before')
    const answer = await start(ledger, { ...lane, kind }, hostLane)
    if (answer === undefined) return { kind: 'refused', why: 'ledger-unavailable' }
    if (answer.kind === 'refused') return answer
    if (answer.kind === 'granted') {
      crashPoint('start.after')
      const { waitMs = 0, leaseMs, paceLane } = answer
      // The ledger was called slightly before the due time; this process's clock measures the rest.
      if (waitMs > 0) await exactly(ledger.clock, waitMs)
      return { kind: 'granted', own: { ...lane, ...awaited, kind: what }, host: paceLane, since, leaseMs }
    }
    if (answer.waitMs > LONGEST_EARLY_MS) break
    await ledger.clock.sleep(answer.waitMs)
  }
  return { kind: 'unused', why: 'too-early' }
}
