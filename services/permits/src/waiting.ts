/**
 * Callers that wait for permits, lane by lane and crawl by crawl: first come, first served. Only the first of each asks the ledger, where
 * this process has one place for each crawl among all that wait for the lane: stored URLs, robots fetches and the permits of other
 * processes. Turns between crawls are the ledger's.
 */

import type { Wish } from './admission.ts'
import type { Attempt, Granted, Wait } from './attempt.ts'
import { Problem } from './problem.ts'

/** The ledger is asked this long before the lane is due, because it grants a little ahead. */
const AHEAD_MS = 6
/** Longest times between two attempts at a lane. One in use is tried twice in each of its delays; otherwise a stored URL would always be first. */
const BUSY_MS = 500
/** The shortest time, where the ledger cannot know when the lane becomes free. */
const LEAST_MS = 20
/** The longest time between two looks for rules; each is as long as half of what they have been waited for. */
const RULES_MS = 1_000
const LONG_WAIT_MS = 2_000
const LONGEST_MS = 30_000

/** One of the URLs that will never be granted. `index`: its position among those that were asked for */
export type Refusal = { index: number; problem: Problem }
/** `refused`: those of several URLs that will never be granted. */
export type Answer =
  | (Granted & { wish: Wish; refused: Refusal[] })
  | (Wait & { wish: Wish; ahead: number; refused: Refusal[] })
  | { kind: 'refused'; refused: Refusal[] }

/** Who asked, and whether its connection is still open. Thousands wait at once: an AbortSignal for each would weigh more than all the rest. */
export type Caller = { isGone: boolean; onGone?: () => void }

/** One request for a permit, for whichever of its URLs is granted first. */
type Ask = {
  leaseMs: number
  places: Place[]
  /** some of its URLs have not been tried yet */
  isEntering: boolean
  isDone: boolean
  refused: Refusal[]
  settle: (answer: Answer) => void
  fail: (error: unknown) => void
}
/** `number`: how many came to this lane before it */
type Place = { ask: Ask; wish: Wish; lane: Lane; number: number }
/** Of one crawl, or of callers that name none. */
type Lane = {
  name: string
  /** of all crawls of the same lane: the end of an exchange is reported under it */
  shared: string
  places: Set<Place>
  /** the ledger's latest answer, and when it is asked again (performance.now) */
  last: Wait
  againAt: number
  /** when it is due after an exchange whose end came to this process */
  opensAt: number
  delayMs: number
  /** since when it has waited for rules or for whoever fetches them (performance.now); 0: it does not */
  rulesSince: number
  come: number
  timer: NodeJS.Timeout | undefined
  passing: Promise<void> | undefined
}

export type LinesOptions = {
  attempt: (wish: Wish, leaseMs: number) => Promise<Attempt>
  /** the caller has closed its connection, or has another permit by now */
  release: (granted: Granted) => void
  /** cached rules forbid the URL, so it does not wait in line */
  refusedAlready: (wish: Wish) => Problem | undefined
}

export class Lines {
  readonly #options: LinesOptions
  readonly #lanes = new Map<string, Lane>()
  readonly #sharing = new Map<string, Set<Lane>>()
  #waiting = 0

  constructor(options: LinesOptions) {
    this.#options = options
  }

  /** callers that have no answer yet */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * @param wishes  one or more URLs, in the order in which they are wanted
   * @param waitMs  how long to wait in line; each lane is asked once at least
   * @param caller  nothing is granted once it has closed its connection
   * @throws LedgerUnavailableError · GoneError
   */
  async ask(wishes: Wish[], leaseMs: number, waitMs: number, caller: Caller): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const ask: Ask = {
      leaseMs,
      places: [],
      isEntering: true,
      isDone: false,
      refused: [],
      settle: resolve,
      fail: reject,
    }
    caller.onGone = () => this.#end(ask, () => reject(new GoneError()))
    this.#waiting++
    const until = performance.now() + waitMs
    let timer: NodeJS.Timeout | undefined
    promise.catch(() => undefined)
    try {
      for (const wish of wishes) {
        if (ask.isDone || caller.isGone) break
        const problem = this.#options.refusedAlready(wish)
        if (problem !== undefined) ask.refused.push({ index: wish.index, problem })
        else await this.#pass(this.#enter(ask, wish))
      }
      ask.isEntering = false
      this.#endRefused(ask)
      if (!ask.isDone) {
        const leftMs = until - performance.now()
        const late = (): void => this.#end(ask, () => resolve(this.#soonest(ask)))
        if (leftMs <= 0) late()
        else timer = setTimeout(late, Math.ceil(leftMs))
      }
      return await promise
    } finally {
      clearTimeout(timer)
      this.#waiting--
    }
  }

  /** An exchange of this lane has ended: it is due in so many ms. */
  ended(agent: string, origin: string, delayMs: number): void {
    for (const lane of this.#sharing.get(`${agent} ${origin}`) ?? []) {
      lane.opensAt = performance.now() + delayMs
      this.#again(lane, delayMs)
    }
  }

  #enter(ask: Ask, wish: Wish): Lane {
    const shared = `${wish.agent.key} ${wish.origin}`
    const name = wish.crawl === undefined ? shared : `${shared} ${wish.crawl}`
    let lane = this.#lanes.get(name)
    if (lane === undefined) {
      const last: Wait = { kind: 'wait', waitMs: 1_000, gate: 'lane-busy' }
      lane = {
        name,
        shared,
        places: new Set(),
        last,
        againAt: 0,
        opensAt: 0,
        delayMs: wish.agent.minDelayMs,
        rulesSince: 0,
        come: 0,
        timer: undefined,
        passing: undefined,
      }
      this.#lanes.set(name, lane)
      this.#sharing.set(shared, (this.#sharing.get(shared) ?? new Set()).add(lane))
    }
    const place = { ask, wish, lane, number: lane.come++ }
    lane.places.add(place)
    ask.places.push(place)
    return lane
  }

  /** Ends a request once, and frees its places. */
  #end(ask: Ask, tell: () => void): void {
    if (ask.isDone) return
    ask.isDone = true
    tell()
    for (const place of ask.places) this.#leave(place)
  }

  #leave(place: Place): void {
    const { lane } = place
    lane.places.delete(place)
    if (lane.places.size > 0 || lane.passing !== undefined) return
    this.#forget(lane)
  }

  #forget(lane: Lane): void {
    clearTimeout(lane.timer)
    this.#lanes.delete(lane.name)
    const sharing = this.#sharing.get(lane.shared)
    sharing?.delete(lane)
    if (sharing?.size === 0) this.#sharing.delete(lane.shared)
  }

  /** Asks for the first places of a lane until one has to wait; one pass at a time. */
  #pass(lane: Lane): Promise<void> {
    // While the lane is known to be closed, a newcomer only waits behind the first in line.
    if (lane.passing === undefined && lane.againAt > performance.now()) return Promise.resolve()
    lane.passing ??= this.#serve(lane).finally(() => {
      lane.passing = undefined
      if (lane.places.size === 0) this.#forget(lane)
    })
    return lane.passing
  }

  async #serve(lane: Lane): Promise<void> {
    clearTimeout(lane.timer)
    for (let place = first(lane.places); place !== undefined; place = first(lane.places)) {
      const { ask, wish } = place
      let answer: Attempt
      try {
        answer = await this.#options.attempt(wish, ask.leaseMs)
      } catch (error) {
        for (const { ask: one } of [...lane.places]) this.#end(one, () => one.fail(error))
        return
      }
      if (answer instanceof Problem) {
        this.#refuse(place, answer)
      } else if (answer.kind === 'wait') {
        lane.last = answer
        noteRules(lane, answer)
        this.#again(lane, sleepMs(answer, lane))
        if (!ask.isDone) return
      } else {
        const granted = answer
        lane.delayMs = granted.leases.delayMs
        lane.rulesSince = 0
        if (ask.isDone) this.#options.release(granted)
        else this.#end(ask, () => ask.settle({ ...granted, wish, refused: ask.refused }))
      }
    }
  }

  /** One URL of a request is refused; when none is left, the request is answered with all refusals. */
  #refuse(place: Place, problem: Problem): void {
    const { ask, wish } = place
    this.#leave(place)
    ask.places = ask.places.filter((one) => one !== place)
    ask.refused.push({ index: wish.index, problem })
    this.#endRefused(ask)
  }

  #endRefused(ask: Ask): void {
    const { refused, places, isEntering } = ask
    if (isEntering || places.length > 0 || refused.length === 0) return
    this.#end(ask, () => ask.settle({ kind: 'refused', refused }))
  }

  #again(lane: Lane, ms: number): void {
    clearTimeout(lane.timer)
    const inMs = Math.max(1, Math.ceil(ms - AHEAD_MS))
    lane.againAt = performance.now() + inMs
    lane.timer = setTimeout(() => {
      lane.againAt = 0
      this.#sweep(lane)
      void this.#pass(lane)
    }, inMs)
  }

  /** Refuses the URLs that rules have come to forbid while they waited. */
  #sweep(lane: Lane): void {
    for (const place of lane.places) {
      const problem = this.#options.refusedAlready(place.wish)
      if (problem !== undefined) this.#refuse(place, problem)
    }
  }

  #soonest(ask: Ask): Answer {
    const at = performance.now()
    const waits = ask.places.map((place) => {
      const { lane, wish } = place
      const ahead = place.number - (first(lane.places) ?? place).number // at most: some of them may have been answered
      const waitMs = Math.max(1, Math.ceil(Math.max(lane.againAt - at, lane.last.waitMs) + ahead * lane.delayMs))
      return { ...lane.last, waitMs, wish, ahead, refused: ask.refused }
    })
    return waits.reduce((one, other) => (other.waitMs < one.waitMs ? other : one))
  }
}

/** The caller has closed its connection. */
export class GoneError extends Error {
  override readonly name = 'GoneError'
}

const first = <T>(of: Set<T>): T | undefined => of.values().next().value

/** While an order for robots.txt is on its way, its lane is busy: that is a part of the same wait. */
function noteRules(lane: Lane, { gate }: Wait): void {
  if (gate === 'robots-in-flight') lane.rulesSince ||= performance.now()
  else if (gate !== 'lane-busy') lane.rulesSince = 0
}

/** Until the instant that the ledger has said. Where it cannot know one, looks are never close together. */
function sleepMs({ waitMs, gate }: Wait, { delayMs, opensAt, rulesSince }: Lane): number {
  const now = performance.now()
  const opensMs = opensAt - now
  if (gate === 'robots-in-flight')
    return Math.min(LONGEST_MS, Math.max(waitMs, LEAST_MS, Math.min(RULES_MS, (now - rulesSince) / 2)))
  if (gate === 'lane-busy' && opensMs > 0) return opensMs // the exchange ended while the ledger was asked
  if (gate === 'lane-busy') return Math.max(LEAST_MS, Math.min(waitMs, BUSY_MS, delayMs / 2))
  if (gate === 'stopped' || gate === 'paused' || gate === 'back-off' || gate === 'startup-hold')
    return Math.min(waitMs, LONG_WAIT_MS)
  return Math.min(waitMs, LONGEST_MS)
}
