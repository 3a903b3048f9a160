/**
 * The clocks above a lane (pace groups, and the lanes that a robots.txt leads into): entered before the request, left
 * after it. Whoever finds one of them shut holds none: it comes again when the ledger says that its turn may be.
 */
import { gapAfter, type LaneRef, type Ledger, type Mood } from '@decorum/ledger'
import type { Agent, PaceGroups } from '@decorum/protocol'
import { crashPoint } from '@decorum/service'
import type { Exchange } from './exchange.ts'
import { later } from './lease.ts'

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
  hostLane: LaneRef | undefined
  begun(visit: { fence: number; gapMs: number } | undefined): void
  /** silence that the lane and its clocks owe between two requests of one visit, ms */
  restMs(): number
  enterHop: EnterHop
  astray: Astray
  /** the exchange is over: each clock owes its silence from there. Never rejects. */
  leave(end: End): Promise<void>
  /** nothing was sent: each clock is what it was. Never rejects. */
  release(): Promise<void>
}

export type Pace = {
  /** some clocks are of addresses: `astray` has something to say */
  watchesAddress: boolean
  /** @param gapMs  what the request owes its own lane */
  enter(agent: Agent, origin: string, gapMs: number): Promise<Clocks | { waitMs: number }>
}

export type PaceOptions = {
  ledger: Pick<Ledger, 'enter' | 'settle' | 'resolve' | 'partitionOf'>
  groups: PaceGroups
  /** the address that the next request to the origin will go to; undefined when the name has none */
  addressOf: (agent: Agent, origin: string) => Promise<string | undefined>
}

const LEAVE_TRIES = 3
const AGAIN_MS = 250
const FINE: Mood = { kind: 'fine' }
/** What most requests have above their lane: one object for all of them. */
const NONE_ABOVE = { clocks: [], astray: (): undefined => undefined }
const plain = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/i, '')
const nameOf = ({ agent, origin }: LaneRef): string => `${agent} ${origin}`

export function openPace({ ledger, groups, addressOf }: PaceOptions): Pace {
  const wanted = async (agent: Agent, origin: string, gapMs: number) => {
    if (groups.hostsAlone) return NONE_ABOVE
    const address = groups.needsAddress ? await addressOf(agent, origin) : undefined
    const above = groups.above(agent.key, origin, address)
    const clocks = above.map((clock) => ({ ...clock, gapMs: clock.gapMs ?? gapMs, kind: 'clock' as const }))
    // Names are looked up again when a connection is made, and may lead elsewhere by then.
    const astray: Astray = (at) =>
      !groups.needsAddress || plain(at) === plain(address) ? undefined : `the clock of ${at} is not held`
    return { clocks, astray }
  }
  /** All of them or none: what was entered before one that is shut is given back unused. */
  const enterAll = async (
    clocks: { lanes: LaneRef[]; gapMs: number; kind: 'hop' | 'clock'; ofSite?: boolean }[],
  ): Promise<Visit[] | { waitMs: number }> => {
    const visits: Visit[] = []
    for (const { lanes, gapMs, kind, ofSite = false } of clocks) {
      const entry = await ledger.enter({ lanes, gapMs, kind }).catch(() => undefined)
      if (entry?.kind !== 'granted') {
        await release(ledger, visits)
        return { waitMs: entry?.waitMs ?? AGAIN_MS }
      }
      crashPoint(kind === 'hop' ? 'hop.entered' : 'clock.entered')
      visits.push({ ...entry.lane, fence: entry.fence, gapMs: entry.gapMs, ofSite })
    }
    return visits
  }

  return {
    watchesAddress: groups.needsAddress,
    async enter(agent, origin, gapMs) {
      const { clocks, astray } = await wanted(agent, origin, gapMs)
      const entered = clocks.length === 0 ? [] : await enterAll(clocks)
      if ('waitMs' in entered) return entered
      const visits = entered
      const hostLane = groups.hostLane(agent.key, origin)
      const isHeld = (lane: LaneRef): boolean =>
        (lane.agent === agent.key && lane.origin === origin) || visits.some((held) => nameOf(held) === nameOf(lane))
      const self: Clocks = {
        hostLane,
        astray,
        begun(visit) {
          if (visit !== undefined && hostLane !== undefined) visits.push({ ...hostLane, ...visit, ofSite: true })
        },
        restMs: () => Math.max(gapMs, ...visits.map((held) => held.gapMs)),
        async enterHop(to, deadlineMs, tookMs) {
          const until = performance.now() + deadlineMs
          const host = groups.hostLane(agent.key, to)
          const site = { gapMs: agent.minGapMs, ofSite: true }
          const there = await wanted(agent, to, agent.minGapMs)
          const needed = [
            ...there.clocks,
            ...(host === undefined ? [] : [{ ...site, lanes: [host], kind: 'clock' as const }]),
            { ...site, lanes: [{ agent: agent.key, origin: to }], kind: 'hop' as const },
          ]
          // A clock that this very visit holds has just ended a request of ours: it is waited out, not asked for.
          const shared = needed.some(({ lanes }) => lanes.some(isHeld))
          const restMs = shared ? gapAfter(agent, self.restMs(), tookMs) : 0
          if (performance.now() + restMs >= until) return undefined
          if (restMs > 0) await later(restMs)
          for (;;) {
            const hop = await enterAll(needed.filter(({ lanes }) => !lanes.some(isHeld)))
            if (!('waitMs' in hop)) {
              return {
                shared,
                astray: there.astray,
                async leave({ kind, endedAt, timing }) {
                  const tookMs = kind === 'not-sent' ? undefined : timing.totalMs
                  await leave(ledger, hop, { endedAt, gapMs: gapAfter(agent, agent.minGapMs, tookMs) })
                  crashPoint('hop.left')
                },
              }
            }
            if (performance.now() + hop.waitMs >= until) return undefined
            await later(hop.waitMs)
          }
        },
        async leave(end) {
          if (visits.length === 0) return
          await leave(ledger, visits, end)
          crashPoint('clock.left')
        },
        release: () => release(ledger, visits),
      }
      return self
    },
  }
}

async function leave(
  ledger: PaceOptions['ledger'],
  visits: Visit[],
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

async function release(ledger: PaceOptions['ledger'], visits: Visit[]): Promise<void> {
  await Promise.all(
    visits.map(({ agent, origin, fence }) => {
      const word = { agent, origin, fence, dropped: [], next: { kind: 'release' as const } }
      return ledger.resolve(ledger.partitionOf(origin), [word]).catch(() => undefined) // a lease ends by itself, too
    }),
  )
}
