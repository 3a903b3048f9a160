/**
 * The clocks above a lane (pace groups, and the lanes that a robots.txt leads into): entered before the request, left
 * after it. Whoever finds one of them shut holds none: it comes again when the ledger says that its turn may be.
 */

import type { Agent } from '@decorum/config'
import type { HeldLane, LaneRef, Ledger, SiteLoad } from '@decorum/ledger'
import type { PaceGroups } from '@decorum/politeness'
import { delayAfter } from '@decorum/politeness'
import { crashPoint } from '@decorum/runtime'
import type { Exchange } from '../http/exchange.ts'
import { type Confirm, confirming, later } from './lease.ts'

/** A visit to a lane: our fence, and the silence it will owe, ms. */
type Visit = LaneRef & {
  fence: number
  delayMs: number
  /** of the site itself: its lane, or its host's */
  ofSite: boolean
  /** held before the hop that asks for it, and afterwards */
  isOurs?: boolean
}

/** One hop of a robots.txt: a request of its own at the origin where it leads. */
export type Hop = {
  origin: string
  /** its URL is a robots.txt: it takes part in the one robots fetch of that origin */
  isRobots: boolean
  /** fence of the order that the hop belongs to */
  fence: number
  deadlineMs: number
  /** the slowest exchange of the visit so far, ms, for agents that rest in proportion */
  tookMs?: number | undefined
}
export type HopLane = {
  /** under which the hop is made; a robots fetch is ended under it */
  fence: number
  /** ends the visit; `load`: what the site said by its answer. Never rejects: a lease that cannot be handed back ends by itself. */
  leave(exchange: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>, load?: SiteLoad): Promise<void>
  /** nothing was sent: each clock is what it was. Never rejects. */
  release(): Promise<void>
  /** one of its clocks is held by this visit already: the hop is one more request of it */
  shared: boolean
  astray: Astray
  confirm: Confirm
}
/** Why nothing may be sent over a connection to this address: it is not the one whose clock is held. Or undefined. */
export type Astray = (address: string | undefined) => string | undefined
/** The end of a request: its instant on `performance.now()`, what the site said by it, the silence owed to the site (ms). */
export type End = { endedAt: number; load?: SiteLoad; delayMs: number }
/**
 * The lane of a hop with all clocks above it, once they are open and no other robots fetch of its origin is in flight.
 * late: that would be after `deadlineMs`. blocked: an operator has blocked the origin.
 */
export type AcquireHop = (hop: Hop) => Promise<HopLane | 'late' | 'blocked'>

/** The clocks that one request holds. */
export type Clocks = {
  /** the host's clock: begun in one step with the lane, which then says so here */
  readonly hostLane: LaneRef | undefined
  started(visit: { fence: number; delayMs: number } | undefined): void
  /** silence that the lane and its clocks owe between two requests of one visit, ms */
  restMs(): number
  /** the longest delay that a hop owed on a clock of this visit, ms: the visit owes it, too */
  hopsOweMs(): number
  acquireHop: AcquireHop
  readonly astray: Astray
  /** the exchange is over: each clock owes its silence from there. Never rejects; undefined where there is none to tell */
  leave(end: End): Promise<void> | undefined
  /** nothing was sent: each clock is what it was. Never rejects. */
  release(): Promise<void>
}

/** Infinity: an operator has blocked the origin of a hop */
type NotEntered = { waitMs: number }
type Entered = Clocks | NotEntered

export type Pace = {
  /** some clocks are of addresses: `astray` has something to say */
  watchesAddress: boolean
  /** At once where nothing has to be asked for. @param delayMs  what the request owes its own lane */
  acquire(agent: Agent, origin: string, delayMs: number): Entered | Promise<Entered>
}

export type PaceOptions = {
  ledger: Pick<Ledger, 'confirm' | 'acquire' | 'complete' | 'resolve' | 'partitionOf'>
  groups: PaceGroups
  /** the address that the next request to the origin will go to; undefined when the name has none */
  addressOf: (agent: Agent, origin: string) => Promise<string | undefined>
}

/** A clock that has to be entered, at the first of these lanes that is open. */
type Wanted = {
  lanes: LaneRef[]
  delayMs: number
  kind: 'hop' | 'clock'
  ofSite?: boolean
  of?: LaneRef
  isRobots?: boolean
  /** held by this visit already: nothing is leased */
  heldFence?: number
}
type Above = { clocks: Wanted[]; astray: Astray }

const LEAVE_TRIES = 3
const AGAIN_MS = 250
const FINE: SiteLoad = { kind: 'normal' }
/** What most requests have above their lane: one object for all of them. */
const NONE_ABOVE: Above = { clocks: [], astray: (): undefined => undefined }
const NO_VISITS: readonly Visit[] = []
const plain = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/i, '')
const nameOf = ({ agent, origin }: LaneRef): string => `${agent} ${origin}`

export function openPace(options: PaceOptions): Pace {
  const { groups } = options
  return {
    watchesAddress: groups.needsAddress,
    acquire(agent, origin, delayMs) {
      if (groups.hostsAlone) return new HeldClocks(options, agent, origin, delayMs, NO_VISITS, NONE_ABOVE.astray)
      return enterAbove(options, agent, origin, delayMs)
    },
  }
}

async function enterAbove(options: PaceOptions, agent: Agent, origin: string, delayMs: number): Promise<Entered> {
  const { clocks, astray } = await above(options, agent, origin, delayMs)
  const visits = await enterAll(options.ledger, clocks, { agent: agent.key, origin })
  return 'waitMs' in visits ? visits : new HeldClocks(options, agent, origin, delayMs, visits, astray)
}

async function above(
  { groups, addressOf }: PaceOptions,
  agent: Agent,
  origin: string,
  delayMs: number,
): Promise<Above> {
  if (groups.hostsAlone) return NONE_ABOVE
  const address = groups.needsAddress ? await addressOf(agent, origin) : undefined
  const of = { agent: agent.key, origin }
  const clocks = groups.above(agent.key, origin, address).map((clock): Wanted => {
    const owed = clock.delayMs === undefined ? { delayMs, of } : { delayMs: clock.delayMs }
    return { lanes: clock.lanes, kind: 'clock', ...owed }
  })
  // Names are looked up again when a connection is made, and may lead elsewhere by then.
  const astray: Astray = (at) =>
    !groups.needsAddress || plain(at) === plain(address) ? undefined : `the clock of ${at} is not held`
  return { clocks, astray }
}

/** All of them or none: what was entered before one that is shut is given back unused. */
async function enterAll(ledger: PaceOptions['ledger'], clocks: Wanted[], by: LaneRef): Promise<Visit[] | NotEntered> {
  const visits: Visit[] = []
  for (const { ofSite = false, ...wanted } of clocks) {
    const { kind } = wanted
    const entry = await ledger.acquire({ ...wanted, by }).catch(() => ({ kind: 'wait' as const, waitMs: AGAIN_MS }))
    if (entry.kind !== 'granted') {
      await release(ledger, visits)
      return entry.kind === 'blocked' ? { waitMs: Infinity } : { waitMs: entry.waitMs }
    }
    crashPoint(kind === 'hop' ? 'hop.acquired' : 'pace-group.acquired')
    const isOurs = wanted.heldFence !== undefined
    visits.push({ ...entry.lane, fence: entry.fence, delayMs: entry.delayMs, ofSite, isOurs })
  }
  return visits
}

/** One object, and nothing else where no group is set: each page makes one. */
class HeldClocks implements Clocks {
  readonly hostLane: LaneRef | undefined
  readonly astray: Astray
  readonly #options: PaceOptions
  readonly #agent: Agent
  readonly #origin: string
  readonly #delayMs: number
  #visits: readonly Visit[]
  #hopsOweMs = 0

  constructor(
    options: PaceOptions,
    agent: Agent,
    origin: string,
    delayMs: number,
    visits: readonly Visit[],
    astray: Astray,
  ) {
    this.#options = options
    this.#agent = agent
    this.#origin = origin
    this.#delayMs = delayMs
    this.#visits = visits
    this.astray = astray
    this.hostLane = options.groups.hostLane(agent.key, origin)
  }

  started(visit: { fence: number; delayMs: number } | undefined): void {
    if (visit !== undefined && this.hostLane !== undefined)
      this.#visits = [...this.#visits, { ...this.hostLane, ...visit, ofSite: true }]
  }

  restMs(): number {
    return Math.max(this.#delayMs, this.#hopsOweMs, ...this.#visits.map((held) => held.delayMs))
  }

  hopsOweMs(): number {
    return this.#hopsOweMs
  }

  async acquireHop({
    origin: to,
    isRobots,
    fence: ownFence,
    deadlineMs,
    tookMs,
  }: Hop): Promise<HopLane | 'late' | 'blocked'> {
    const { ledger, groups } = this.#options
    const agent = this.#agent
    const lane: LaneRef = { agent: agent.key, origin: to }
    const heldFence = this.#heldFence(lane, ownFence)
    const asked = performance.now()
    const until = asked + deadlineMs
    const host = groups.hostLane(agent.key, to)
    const site = { delayMs: agent.minDelayMs, ofSite: true }
    const there = await above(this.#options, agent, to, agent.minDelayMs)
    const needed: Wanted[] = [
      ...there.clocks,
      ...(host === undefined ? [] : [{ ...site, lanes: [host], kind: 'clock' as const, of: lane }]),
      { ...site, lanes: [lane], kind: 'hop', isRobots, ...(heldFence === undefined ? {} : { heldFence }) },
    ]
    // A clock that this very visit holds has just ended a request of ours: it is waited out, not asked for. The origin's
    // gates are looked at all the same.
    const isHeld = (one: LaneRef): boolean => this.#heldFence(one, ownFence) !== undefined
    const shared = needed.some(({ lanes }) => lanes.some(isHeld))
    const restMs = shared ? delayAfter(agent, this.restMs(), tookMs) : 0
    if (performance.now() + restMs >= until) return 'late'
    if (restMs > 0) await later(restMs)
    for (;;) {
      const since = { monotonic: performance.now(), wall: Date.now() }
      const hop = await enterAll(
        ledger,
        needed.filter(({ kind, lanes }) => kind === 'hop' || !lanes.some(isHeld)),
        { agent: agent.key, origin: this.#origin },
      )
      if (!('waitMs' in hop)) {
        const owedMs = Math.max(...hop.flatMap(({ ofSite, delayMs }) => (ofSite ? [delayMs] : [])))
        if (shared) this.#hopsOweMs = Math.max(this.#hopsOweMs, owedMs)
        // The ledger may know of a longer delay of a lane that is held than its order does: an operator has set one meanwhile.
        const heldMs = Math.max(0, ...hop.flatMap(({ isOurs, delayMs }) => (isOurs ? [delayMs] : [])))
        const missingMs = asked + heldMs - performance.now()
        if (performance.now() + missingMs >= until) {
          await release(
            ledger,
            hop.filter(({ isOurs }) => !isOurs),
          )
          return 'late'
        }
        if (missingMs > 0) await later(missingMs)
        return hopLane(ledger, agent, hop, owedMs, shared, there.astray, since)
      }
      if (hop.waitMs === Infinity) return 'blocked'
      if (performance.now() + hop.waitMs >= until) return 'late'
      await later(hop.waitMs)
    }
  }

  leave(end: End): Promise<void> | undefined {
    if (this.#visits.length === 0) return undefined
    const delayMs = Math.max(end.delayMs, this.#hopsOweMs)
    return leave(this.#options.ledger, this.#visits, { ...end, delayMs }).then(() => crashPoint('pace-group.completed'))
  }

  release(): Promise<void> {
    return release(this.#options.ledger, this.#visits)
  }

  /** The fence under which this visit holds a lane: that of its order, or of a clock. */
  #heldFence(lane: LaneRef, ownFence: number): number | undefined {
    if (lane.agent === this.#agent.key && lane.origin === this.#origin) return ownFence
    return this.#visits.find((held) => nameOf(held) === nameOf(lane))?.fence
  }
}

const hopLane = (
  ledger: PaceOptions['ledger'],
  agent: Agent,
  visits: Visit[],
  owedMs: number,
  shared: boolean,
  astray: Astray,
  since: { monotonic: number; wall: number },
): HopLane => {
  const entered = visits.filter(({ isOurs }) => isOurs !== true)
  return {
    fence: visits.at(-1)?.fence ?? 0, // the hop's own lane is entered last
    shared,
    astray,
    confirm: confirming(ledger, since, byPartition(ledger, visits)).confirm,
    async leave({ kind, endedAt, timing }, load = FINE) {
      const tookMs = kind === 'not-sent' ? undefined : timing.totalMs
      await leave(ledger, entered, { endedAt, load, delayMs: delayAfter(agent, owedMs, tookMs) })
      crashPoint('hop.completed')
    },
    release: () => release(ledger, entered),
  }
}

const byPartition = (ledger: PaceOptions['ledger'], visits: readonly Visit[]): HeldLane[][] => [
  ...Map.groupBy(
    visits.map(({ agent, origin, fence }) => ({ agent, origin, fence })),
    ({ origin }) => ledger.partitionOf(origin),
  ).values(),
]

async function leave(
  ledger: PaceOptions['ledger'],
  visits: readonly Visit[],
  { endedAt, load = FINE, ...owed }: End,
): Promise<void> {
  const end = async ({ agent, origin, fence, delayMs, ofSite }: Visit): Promise<void> => {
    const silence = ofSite ? { delayMs: Math.max(delayMs, owed.delayMs), load: heard(load) } : { delayMs, load: FINE }
    for (let tries = 1; tries <= LEAVE_TRIES; tries++) {
      try {
        const elapsedMs = Math.max(0, performance.now() - endedAt)
        await ledger.complete({ agent, origin, fence, ...silence, elapsedMs, secondary: true })
        return
      } catch {
        await later(AGAIN_MS)
      }
    }
  }
  await Promise.all(visits.map(end))
}

/** A site that says 'too fast' means its host. A port that does not answer says nothing of the others. */
const heard = (load: SiteLoad): SiteLoad => (load.kind === 'asked-for-less' ? load : FINE)

async function release(ledger: PaceOptions['ledger'], visits: readonly Visit[]): Promise<void> {
  await Promise.all(
    visits.map(({ agent, origin, fence }) => {
      const word = { agent, origin, fence, dropped: [], next: { kind: 'release' as const } }
      return ledger.resolve(ledger.partitionOf(origin), [word]).catch(() => undefined) // a lease ends by itself, too
    }),
  )
}
