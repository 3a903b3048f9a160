/**
 * The clocks above a lane (pace groups, and the lanes that a robots.txt leads into): entered before the request, left
 * after it. Whoever finds one of them shut holds none: it comes again when the ledger says that its turn may be.
 */
import { gapAfter, type HeldLane, type LaneRef, type Ledger, type Mood } from '@decorum/ledger'
import type { Agent, PaceGroups } from '@decorum/protocol'
import { crashPoint } from '@decorum/service'
import type { Exchange } from './exchange.ts'
import { type Confirm, confirming, later } from './lease.ts'

/** A visit to a lane: our fence, and the silence it will owe, ms. */
type Visit = LaneRef & {
  fence: number
  gapMs: number /** of the site itself: its lane, or its host's */
  ofSite: boolean
}

/** One hop of a robots.txt into another origin. */
export type HopLane = {
  /** ends the visit. Never rejects: a lease that cannot be handed back ends by itself. */
  leave(exchange: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>): Promise<void>
  /** one of its clocks is held by this visit already: the hop is one more request of it */
  shared: boolean
  astray: Astray
  confirm: Confirm
}
/** Why nothing may be sent over a connection to this address: it is not the one whose clock is held. Or undefined. */
export type Astray = (address: string | undefined) => string | undefined
/** The end of a request: its instant on `performance.now()`, what the site said by it, the silence owed to the site (ms). */
export type End = { endedAt: number; mood?: Mood; gapMs: number }
/**
 * The lane of a hop with all clocks above it, once they are open; undefined when that would be after `deadlineMs`.
 * @param tookMs  the slowest exchange of the visit so far, ms, for agents that rest in proportion
 */
export type EnterHop = (origin: string, deadlineMs: number, tookMs?: number) => Promise<HopLane | undefined>

/** The clocks that one request holds. */
export type Clocks = {
  /** the host's clock: begun in one step with the lane, which then says so here */
  readonly hostLane: LaneRef | undefined
  begun(visit: { fence: number; gapMs: number } | undefined): void
  /** silence that the lane and its clocks owe between two requests of one visit, ms */
  restMs(): number
  enterHop: EnterHop
  readonly astray: Astray
  /** the exchange is over: each clock owes its silence from there. Never rejects; undefined where there is none to tell */
  leave(end: End): Promise<void> | undefined
  /** nothing was sent: each clock is what it was. Never rejects. */
  release(): Promise<void>
}

type Entered = Clocks | { waitMs: number }

export type Pace = {
  /** some clocks are of addresses: `astray` has something to say */
  watchesAddress: boolean
  /** At once where nothing has to be asked for. @param gapMs  what the request owes its own lane */
  enter(agent: Agent, origin: string, gapMs: number): Entered | Promise<Entered>
}

export type PaceOptions = {
  ledger: Pick<Ledger, 'confirm' | 'enter' | 'settle' | 'resolve' | 'partitionOf'>
  groups: PaceGroups
  /** the address that the next request to the origin will go to; undefined when the name has none */
  addressOf: (agent: Agent, origin: string) => Promise<string | undefined>
}

/** A clock that has to be entered, at the first of these lanes that is open. */
type Wanted = { lanes: LaneRef[]; gapMs: number; kind: 'hop' | 'clock'; ofSite?: boolean }
type Above = { clocks: Wanted[]; astray: Astray }

const LEAVE_TRIES = 3
const AGAIN_MS = 250
const FINE: Mood = { kind: 'fine' }
/** What most requests have above their lane: one object for all of them. */
const NONE_ABOVE: Above = { clocks: [], astray: (): undefined => undefined }
const NO_VISITS: readonly Visit[] = []
const plain = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/i, '')
const nameOf = ({ agent, origin }: LaneRef): string => `${agent} ${origin}`

export function openPace(options: PaceOptions): Pace {
  const { groups } = options
  return {
    watchesAddress: groups.needsAddress,
    enter(agent, origin, gapMs) {
      if (groups.hostsAlone) return new HeldClocks(options, agent, origin, gapMs, NO_VISITS, NONE_ABOVE.astray)
      return enterAbove(options, agent, origin, gapMs)
    },
  }
}

async function enterAbove(options: PaceOptions, agent: Agent, origin: string, gapMs: number): Promise<Entered> {
  const { clocks, astray } = await above(options, agent, origin, gapMs)
  const visits = await enterAll(options.ledger, clocks, { agent: agent.key, origin })
  return 'waitMs' in visits ? visits : new HeldClocks(options, agent, origin, gapMs, visits, astray)
}

async function above({ groups, addressOf }: PaceOptions, agent: Agent, origin: string, gapMs: number): Promise<Above> {
  if (groups.hostsAlone) return NONE_ABOVE
  const address = groups.needsAddress ? await addressOf(agent, origin) : undefined
  const clocks = groups
    .above(agent.key, origin, address)
    .map((clock) => ({ ...clock, gapMs: clock.gapMs ?? gapMs, kind: 'clock' as const }))
  // Names are looked up again when a connection is made, and may lead elsewhere by then.
  const astray: Astray = (at) =>
    !groups.needsAddress || plain(at) === plain(address) ? undefined : `the clock of ${at} is not held`
  return { clocks, astray }
}

/** All of them or none: what was entered before one that is shut is given back unused. */
async function enterAll(
  ledger: PaceOptions['ledger'],
  clocks: Wanted[],
  by: LaneRef,
): Promise<Visit[] | { waitMs: number }> {
  const visits: Visit[] = []
  for (const { lanes, gapMs, kind, ofSite = false } of clocks) {
    const entry = await ledger.enter({ lanes, gapMs, kind, by }).catch(() => undefined)
    if (entry?.kind !== 'granted') {
      await release(ledger, visits)
      return { waitMs: entry?.waitMs ?? AGAIN_MS }
    }
    crashPoint(kind === 'hop' ? 'hop.entered' : 'clock.entered')
    visits.push({ ...entry.lane, fence: entry.fence, gapMs: entry.gapMs, ofSite })
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
  readonly #gapMs: number
  #visits: readonly Visit[]

  constructor(
    options: PaceOptions,
    agent: Agent,
    origin: string,
    gapMs: number,
    visits: readonly Visit[],
    astray: Astray,
  ) {
    this.#options = options
    this.#agent = agent
    this.#origin = origin
    this.#gapMs = gapMs
    this.#visits = visits
    this.astray = astray
    this.hostLane = options.groups.hostLane(agent.key, origin)
  }

  begun(visit: { fence: number; gapMs: number } | undefined): void {
    if (visit !== undefined && this.hostLane !== undefined)
      this.#visits = [...this.#visits, { ...this.hostLane, ...visit, ofSite: true }]
  }

  restMs(): number {
    return Math.max(this.#gapMs, ...this.#visits.map((held) => held.gapMs))
  }

  async enterHop(to: string, deadlineMs: number, tookMs?: number): Promise<HopLane | undefined> {
    const { ledger, groups } = this.#options
    const agent = this.#agent
    const until = performance.now() + deadlineMs
    const host = groups.hostLane(agent.key, to)
    const site = { gapMs: agent.minGapMs, ofSite: true }
    const there = await above(this.#options, agent, to, agent.minGapMs)
    const needed: Wanted[] = [
      ...there.clocks,
      ...(host === undefined ? [] : [{ ...site, lanes: [host], kind: 'clock' as const }]),
      { ...site, lanes: [{ agent: agent.key, origin: to }], kind: 'hop' },
    ]
    // A clock that this very visit holds has just ended a request of ours: it is waited out, not asked for.
    const isHeld = (lane: LaneRef): boolean => this.#isHeld(lane)
    const shared = needed.some(({ lanes }) => lanes.some(isHeld))
    const restMs = shared ? gapAfter(agent, this.restMs(), tookMs) : 0
    if (performance.now() + restMs >= until) return undefined
    if (restMs > 0) await later(restMs)
    for (;;) {
      const since = { monotonic: performance.now(), wall: Date.now() }
      const hop = await enterAll(
        ledger,
        needed.filter(({ lanes }) => !lanes.some(isHeld)),
        { agent: agent.key, origin: this.#origin },
      )
      if (!('waitMs' in hop)) return hopLane(ledger, agent, hop, shared, there.astray, since)
      if (performance.now() + hop.waitMs >= until) return undefined
      await later(hop.waitMs)
    }
  }

  leave(end: End): Promise<void> | undefined {
    if (this.#visits.length === 0) return undefined
    return leave(this.#options.ledger, this.#visits, end).then(() => crashPoint('clock.left'))
  }

  release(): Promise<void> {
    return release(this.#options.ledger, this.#visits)
  }

  #isHeld(lane: LaneRef): boolean {
    return (
      (lane.agent === this.#agent.key && lane.origin === this.#origin) ||
      this.#visits.some((held) => nameOf(held) === nameOf(lane))
    )
  }
}

const hopLane = (
  ledger: PaceOptions['ledger'],
  agent: Agent,
  visits: Visit[],
  shared: boolean,
  astray: Astray,
  since: { monotonic: number; wall: number },
): HopLane => ({
  shared,
  astray,
  confirm: confirming(ledger, since, byPartition(ledger, visits)).confirm,
  async leave({ kind, endedAt, timing }) {
    const tookMs = kind === 'not-sent' ? undefined : timing.totalMs
    await leave(ledger, visits, { endedAt, gapMs: gapAfter(agent, agent.minGapMs, tookMs) })
    crashPoint('hop.left')
  },
})

const byPartition = (ledger: PaceOptions['ledger'], visits: readonly Visit[]): HeldLane[][] => [
  ...Map.groupBy(
    visits.map(({ agent, origin, fence }) => ({ agent, origin, fence })),
    ({ origin }) => ledger.partitionOf(origin),
  ).values(),
]

async function leave(
  ledger: PaceOptions['ledger'],
  visits: readonly Visit[],
  { endedAt, mood = FINE, ...owed }: End,
): Promise<void> {
  const end = async ({ agent, origin, fence, gapMs, ofSite }: Visit): Promise<void> => {
    const silence = ofSite ? { gapMs: Math.max(gapMs, owed.gapMs), mood: heard(mood) } : { gapMs, mood: FINE }
    for (let tries = 1; tries <= LEAVE_TRIES; tries++) {
      try {
        const restedMs = Math.max(0, performance.now() - endedAt)
        await ledger.settle({ agent, origin, fence, ...silence, restedMs, entered: true })
        return
      } catch {
        await later(AGAIN_MS)
      }
    }
  }
  await Promise.all(visits.map(end))
}

/** A site that says 'too fast' means its host. A port that does not answer says nothing of the others. */
const heard = (mood: Mood): Mood => (mood.kind === 'too-fast' ? mood : FINE)

async function release(ledger: PaceOptions['ledger'], visits: readonly Visit[]): Promise<void> {
  await Promise.all(
    visits.map(({ agent, origin, fence }) => {
      const word = { agent, origin, fence, dropped: [], next: { kind: 'release' as const } }
      return ledger.resolve(ledger.partitionOf(origin), [word]).catch(() => undefined) // a lease ends by itself, too
    }),
  )
}
