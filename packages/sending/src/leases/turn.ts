/**
 * The turn of one request: its address is not stopped, its pace groups are free, and then its lane is opened, together with that of its
 * host. Either all leases are held, or none.
 */
import type { Agent, Agents } from '@decorum/config'
import type { LaneRef, Ledger } from '@decorum/ledger'
import type { PaceGroups } from '@decorum/politeness'
import { defined, type Since } from '@decorum/runtime'
import type { LastCheck } from '../http/exchange.ts'
import {
  acquireAll,
  type LeaseLedger,
  type Leases,
  type NotFree,
  type OwnLease,
  type PaceLease,
  release,
  type Wanted,
} from '../ledger.ts'
import type { Reporter } from '../report.ts'

/** Dependencies of taking a turn. */
export type TurnTools = {
  ledger: LeaseLedger & { stops: Pick<Ledger['stops'], 'why' | 'hasAddresses'> }
  groups: PaceGroups
  /** the address that the next request to the origin will use; undefined when the name has none */
  addressOf: (agent: Agent, origin: string) => Promise<string | undefined>
  reporter: Reporter
  /** the agents of the fleet: their lanes wait for the robots fetch of an origin */
  agents: Agents
}

export type LaneRequest = {
  agent: Agent
  origin: string
  /** the delay that the request owes its own lane, ms */
  delayMs: number
  /** identifies the request, which keeps its place in line */
  by: LaneRef
  /** whether another request holds a lane for this one, which then does not reserve it again */
  isHeld?: (lane: LaneRef) => boolean
}

/** The lane of a request was opened, and that of its host with it. `since`: when the ledger was called; a lease runs from then on. */
export type Opened = {
  kind: 'granted'
  own: OwnLease
  host?: { fence: number; delayMs: number } | undefined
  since: Since
  leaseMs: number
  /** nothing may be sent before this many ms from now. Default: at once */
  waitMs?: number
}

/** Opens the lane of a request. @param hostLane  the lane of its host, where that is another one: both are opened, or neither */
export type Open<Refusal> = (hostLane: LaneRef | undefined) => Promise<Opened | Refusal>

export type Turn = {
  kind: 'held'
  leases: Leases
  /** when the first lease was requested, and when its own lane was: a lease runs from then on, however late the reply comes */
  requested: { first: Since; own: Since }
  /** length of the lease of its own lane, as granted by the ledger, ms */
  leaseMs: number
  /** nothing may be sent before this many ms from now */
  waitMs: number
  /** why nothing may be sent to an address: its pace group is not held. Otherwise undefined */
  wrongAddress: LastCheck
}
/** No turn now, and nothing is held: a pace group is not free, or the address that the name resolves to is stopped. */
export type Later = { kind: 'later'; gate: 'stopped' | 'pace-group'; waitMs: number }

/** A name of a stopped address is resolved again after this time, as lib/stops.lua does with stopped hosts. */
const STOPPED_WAIT_MS = 30_000

/** @throws what `open` throws, and LedgerUnavailableError; nothing is held then */
export async function takeTurn<Refusal extends { kind: string }>(
  requested: LaneRequest,
  open: Open<Refusal>,
  tools: TurnTools,
): Promise<Turn | Later | Refusal> {
  const { ledger, reporter } = tools
  const planned = planTurn(requested, tools)
  const { groups, hostLane, wrongAddress, isStopped } = planned instanceof Promise ? await planned : planned
  if (isStopped) return { kind: 'later', gate: 'stopped', waitMs: STOPPED_WAIT_MS }
  const above = groups.length === 0 ? undefined : await acquireAll(ledger, groups, requested.by, reporter)
  if (above?.kind === 'wait') {
    const gate = above.gate === 'stopped' ? above.gate : 'pace-group'
    return { kind: 'later', gate, waitMs: above.waitMs }
  }
  if (above?.kind === 'blocked') throw new Error('a pace group is never blocked')
  const giveUp = async () => above && release(ledger, above.leases, reporter(above.since, above.leaseMs))
  let answer: Opened | Refusal
  try {
    answer = await open(hostLane)
  } catch (error) {
    await giveUp()
    throw error
  }
  if (!isOpened(answer)) {
    await giveUp()
    return answer
  }
  const { own, host, since, leaseMs, waitMs = 0 } = answer
  const paceLeases = [...(above?.leases ?? [])]
  if (hostLane !== undefined && host !== undefined) paceLeases.push({ ...hostLane, ...host, ofSite: true })
  const calledAt = { first: above?.since ?? since, own: since }
  return { kind: 'held', leases: { own, paceLeases }, requested: calledAt, leaseMs, waitMs, wrongAddress }
}

const isOpened = (answer: { kind: string }): answer is Opened => answer.kind === 'granted'

/** The stop of an address, or undefined. The ledger checks stopped hosts; only this process has the address of a host. */
export const stoppedAt = ({ stops }: Pick<TurnTools['ledger'], 'stops'>, origin: string, address: string | undefined) =>
  stops.hasAddresses() ? stops.why(origin, address) : undefined

/** The other lanes that a request needs besides its own, and checks of the address that it will use. */
export type Plan = ReturnType<typeof planAt>

/** Resolved at once if no look-up is needed: this runs for each page. */
export function planTurn(requested: LaneRequest, tools: TurnTools): Plan | Promise<Plan> {
  const { agent, origin } = requested
  const { ledger, groups, addressOf } = tools
  if (!groups.needsAddress && !ledger.stops.hasAddresses()) return planAt(undefined, requested, tools)
  return addressOf(agent, origin).then((address) => planAt(address, requested, tools))
}

function planAt(
  address: string | undefined,
  { agent, origin, delayMs, isHeld = () => false }: LaneRequest,
  tools: TurnTools,
) {
  const { ledger, groups } = tools
  const lane = { agent: agent.key, origin }
  const host = groups.hostLane(agent.key, origin)
  const above = groups.hostsAlone ? [] : groups.above(agent.key, origin, groups.needsAddress ? address : undefined)
  const free = above.filter(({ lanes }) => !lanes.some(isHeld))
  const all = [lane, ...(host === undefined ? [] : [host]), ...above.flatMap(({ lanes }) => lanes)]
  return {
    groups: free.map((group): Wanted => {
      const owed = group.delayMs === undefined ? { delayMs, of: lane } : { delayMs: group.delayMs }
      return { lanes: group.lanes, kind: 'pace-group', ofSite: false, ...owed }
    }),
    hostLane: host === undefined || isHeld(host) ? undefined : host,
    /** the lanes of the request, of its host and of its groups that are held for it already */
    held: all.filter(isHeld),
    wrongAddress: groups.needsAddress ? (at: string | undefined) => notThe(address, at) : anyAddress,
    isStopped: stoppedAt(ledger, origin, address) !== undefined,
  }
}

const anyAddress: LastCheck = () => undefined
const withoutPrefix = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/i, '')
/** The name is resolved again when a connection is made, and may have another address by then. */
const notThe = (address: string | undefined, at: string | undefined): string | undefined =>
  withoutPrefix(at) === withoutPrefix(address) ? undefined : `the pace group of ${at} is not held`

/** A lane that is held for a request already. `since`: when the ledger was last called about it. */
export type Held = { lease: PaceLease; leaseMs: number; since: Since }

/**
 * Opens a lane by its name, for a request that is not a URL of the lane: a hop, or a person's request.
 * @param held  the lane, if it is held already: then only that of its host is opened
 */
export const byName =
  (
    { agent, origin, delayMs, by }: LaneRequest,
    { isRobots, held }: { isRobots: boolean; held?: Held | undefined },
    { ledger, reporter, agents }: TurnTools,
  ): Open<NotFree> =>
  async (hostLane) => {
    const lane = { agent: agent.key, origin }
    const site = { delayMs, ofSite: true }
    const hop: Wanted = { ...site, lanes: [lane], kind: 'hop', isRobots, ...defined({ paceLane: hostLane }) }
    const host: Wanted[] = hostLane === undefined ? [] : [{ ...site, lanes: [hostLane], kind: 'pace-group', of: lane }]
    const wanted = held === undefined ? [hop] : host
    const acquired = await acquireAll(ledger, wanted, by, reporter)
    if (acquired.kind !== 'acquired') return acquired
    const leases = held === undefined ? acquired.leases : [...acquired.leases, held.lease]
    const { since, leaseMs } = held ?? acquired
    const [own, ofHost] = leases.toReversed()
    if (own === undefined) throw new Error('the ledger has granted no lane')
    const awaited = isRobots ? { awaitedBy: agents.list.map(({ key }) => key) } : {}
    return { kind: 'granted', own: { ...own, ...awaited, kind: 'secondary' }, host: ofHost, since, leaseMs }
  }
