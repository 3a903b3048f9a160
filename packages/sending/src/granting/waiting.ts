/**
 * Callers that wait for a turn, per lane and crawl: first come, first served. Only the first caller of each crawl calls the ledger, where
 * this process has one place per crawl in the lane's queue, beside stored URLs, robots fetches and the callers of other processes. The
 * ledger decides the turns between crawls.
 */

import type { Clock, Timer } from '@decorum/protocol'
import type { Wish } from './admission.ts'
import type { Attempt, Granted, Wait } from './attempt.ts'
import { Problem } from './problem.ts'
import type { Token } from './tokens.ts'

/** The ledger is called this long before the lane is due, because it grants slightly ahead. */
const AHEAD_MS = 6
/** Longest time between two attempts at a lane in use. It is tried twice per delay; otherwise a stored URL would always come first. */
const BUSY_MS = 500
/** Shortest time between two attempts when the ledger's answer does not say when the lane becomes free. */
const LEAST_MS = 20
/** The longest timeout of a Node timer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** Longest time between two checks for rules. An interval is a fifth of the time waited so far, so a page soon follows its rules. */
const RULES_MS = 1_000
const LONG_WAIT_MS = 2_000
const LONGEST_MS = 30_000
/** These gates may open early (by an operator, a fleet record or a robots answer), and waiting callers get no signal of it. */
const MAY_OPEN_EARLIER: ReadonlySet<Wait['gate']> = new Set([
  'startup-hold',
  'stopped',
  'paused',
  'back-off',
  'visiting-hours',
  'budget',
  'robots-unreachable',
])

/** A URL of the request that will never be granted. `index`: its position in the request */
export type Refusal = { index: number; problem: Problem }
/** `refused`: the URLs of the request that will never be granted. */
export type Answer =
  | (Granted & { wish: Wish; refused: Refusal[] })
  | (Wait & { wish: Wish; ahead: number; refused: Refusal[] })
  | { kind: 'refused'; refused: Refusal[] }

/**
 * The caller, and whether its connection is still open. Thousands wait at once: an AbortSignal for each would use more memory than
 * everything else. A caller without a connection keeps its place and is skipped, until it reconnects or gives up.
 */
export type Caller = { isGone: boolean; onGone?: () => void; isAway?: boolean; onBack?: () => void }

/** One request for a turn, for whichever of its URLs is granted first. */
type TurnRequest = {
  leaseMs: number
  caller: Caller
  places: Place[]
  /** whether some of its URLs have not been tried yet */
  isEntering: boolean
  isDone: boolean
  refused: Refusal[]
  settle: (answer: Answer) => void
  fail: (error: unknown) => void
}
/** One URL of a request in the queue of its lane. `number`: how many callers entered the queue before */
type Place = { request: TurnRequest; wish: Wish; lane: Lane; number: number }
/** The queue of one crawl, or of callers that name none. */
type Lane = {
  name: string
  /** shared by all crawls of the same lane, because the end of an exchange is reported by lane */
  shared: string
  places: Set<Place>
  /** the ledger's latest answer, and the time of the next call (clock.monotonic) */
  last: Wait
  againAt: number
  /** when the lane is due after an exchange whose end was reported to this process */
  opensAt: number
  delayMs: number
  /** since when it has waited for rules or for a fetcher (clock.monotonic); 0: it is not waiting for them */
  rulesSince: number
  come: number
  timer: Timer | undefined
  passing: Promise<void> | undefined
}

/** Most callers that wait at once: each is an open connection, and one process has memory and file descriptors for this many. */
export const MOST_WAITING = 25_000

export type LinesOptions = {
  clock: Clock
  /** most callers that wait at once; default MOST_WAITING */
  mostWaiting?: number
  attempt: (wish: Wish, leaseMs: number) => Promise<Attempt>
  /** called for a turn whose caller has closed its connection, or already has another turn */
  release: (granted: Granted) => Promise<void>
  /** the refusal of a URL that cached rules forbid: it does not wait in line. undefined: it does */
  refusedAlready: (wish: Wish) => Problem | undefined
}

export class Lines {
  readonly #clock: Clock
  readonly #options: LinesOptions
  readonly #lanes = new Map<string, Lane>()
  readonly #sharing = new Map<string, Set<Lane>>()
  /** number of waiting callers, by the name of their token */
  readonly #waitingOf = new Map<string, number>()
  #waiting = 0

  constructor(options: LinesOptions) {
    this.#clock = options.clock
    this.#options = options
  }

  /** number of callers without an answer yet */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * @param wishes  one or more URLs, in the order in which they are wanted
   * @param waitMs  how long to wait in line, at most a little over three weeks; each lane is tried at least once
   * @param caller  nothing is granted after it has closed its connection
   * @throws Problem when too many callers wait, of this token or in total · LedgerUnavailableError · GoneError
   */
  async request(wishes: [Wish, ...Wish[]], leaseMs: number, waitMs: number, caller: Caller): Promise<Answer> {
    const leave = this.#room(wishes[0].by)
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const request: TurnRequest = {
      leaseMs,
      caller,
      places: [],
      isEntering: true,
      isDone: false,
      refused: [],
      settle: resolve,
      fail: reject,
    }
    caller.onGone = () => this.#end(request, () => reject(new GoneError()))
    caller.onBack = () => {
      for (const { lane } of request.places) void this.#pass(lane)
    }
    const until = this.#clock.monotonic() + waitMs
    let timer: Timer | undefined
    promise.catch(() => undefined)
    try {
      for (const wish of wishes) {
        if (request.isDone || caller.isGone) break
        const problem = this.#options.refusedAlready(wish)
        if (problem !== undefined) request.refused.push({ index: wish.index, problem })
        else await this.#pass(this.#enter(request, wish))
      }
      request.isEntering = false
      this.#endRefused(request)
      if (!request.isDone) {
        const leftMs = until - this.#clock.monotonic()
        const late = (): void => this.#end(request, () => resolve(this.#soonest(request)))
        if (leftMs <= 0) late()
        else timer = this.#clock.timeout(late, Math.min(LONGEST_TIMER_MS, Math.ceil(leftMs)))
      }
      return await promise
    } finally {
      this.#clock.cancel(timer)
      leave()
    }
  }

  /** Adds a waiting caller to the counts. @returns the function that removes it. @throws Problem */
  #room({ name, maxWaiting }: Token): () => void {
    const own = this.#waitingOf.get(name) ?? 0
    if (maxWaiting !== undefined && own >= maxWaiting)
      throw new Problem('quota', `${maxWaiting} callers of this token wait already`, { retryAfterMs: 1_000 })
    const most = this.#options.mostWaiting ?? MOST_WAITING
    if (this.#waiting >= most) throw new Problem('busy', `${most} callers wait already`, { retryAfterMs: 1_000 })
    this.#waiting++
    this.#waitingOf.set(name, own + 1)
    return () => {
      this.#waiting--
      const left = (this.#waitingOf.get(name) ?? 1) - 1
      if (left > 0) this.#waitingOf.set(name, left)
      else this.#waitingOf.delete(name)
    }
  }

  /** An exchange in this lane has ended: the lane is due in `delayMs`. */
  ended(agent: string, origin: string, delayMs: number): void {
    for (const lane of this.#sharing.get(`${agent} ${origin}`) ?? []) {
      lane.opensAt = this.#clock.monotonic() + delayMs
      this.#again(lane, delayMs)
    }
  }

  /** Releases a turn that was not used: its lanes are due as before. */
  release(granted: Granted): Promise<void> {
    return this.#options.release(granted)
  }

  #enter(request: TurnRequest, wish: Wish): Lane {
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
    const place = { request, wish, lane, number: lane.come++ }
    lane.places.add(place)
    request.places.push(place)
    return lane
  }

  /** Ends a request once, and frees its places. */
  #end(request: TurnRequest, finish: () => void): void {
    if (request.isDone) return
    request.isDone = true
    finish()
    for (const place of request.places) this.#leave(place)
  }

  #leave(place: Place): void {
    const { lane } = place
    lane.places.delete(place)
    if (lane.places.size > 0 || lane.passing !== undefined) return
    this.#forget(lane)
  }

  #forget(lane: Lane): void {
    this.#clock.cancel(lane.timer)
    this.#lanes.delete(lane.name)
    const sharing = this.#sharing.get(lane.shared)
    sharing?.delete(lane)
    if (sharing?.size === 0) this.#sharing.delete(lane.shared)
  }

  /** Tries the first places of a lane until one must wait; one pass at a time. */
  #pass(lane: Lane): Promise<void> {
    // While the lane is known to be closed, a new caller only queues behind the first one.
    if (lane.passing === undefined && lane.againAt > this.#clock.monotonic()) return Promise.resolve()
    lane.passing ??= this.#serve(lane).finally(() => {
      lane.passing = undefined
      if (lane.places.size === 0) this.#forget(lane)
    })
    return lane.passing
  }

  async #serve(lane: Lane): Promise<void> {
    this.#clock.cancel(lane.timer)
    for (let place = present(lane.places); place !== undefined; place = present(lane.places)) {
      const { request, wish } = place
      let answer: Attempt
      try {
        answer = await this.#options.attempt(wish, request.leaseMs)
      } catch (error) {
        for (const { request: one } of [...lane.places]) this.#end(one, () => one.fail(error))
        return
      }
      if (answer instanceof Problem) {
        this.#refuse(place, answer)
      } else if (answer.kind === 'wait') {
        lane.last = answer
        noteRules(lane, answer, this.#clock.monotonic())
        this.#again(lane, sleepMs(answer, lane, this.#clock.monotonic()))
        if (!request.isDone) return
      } else {
        const granted = answer
        lane.delayMs = granted.turn.leases.own.delayMs
        lane.rulesSince = 0
        if (request.isDone || request.caller.isAway) void this.release(granted)
        else this.#end(request, () => request.settle({ ...granted, wish, refused: request.refused }))
      }
    }
  }

  /** Refuses one URL of a request; when no URL is left, the request is answered with all refusals. */
  #refuse(place: Place, problem: Problem): void {
    const { request, wish } = place
    this.#leave(place)
    request.places = request.places.filter((one) => one !== place)
    request.refused.push({ index: wish.index, problem })
    this.#endRefused(request)
  }

  #endRefused(request: TurnRequest): void {
    const { refused, places, isEntering } = request
    if (isEntering || places.length > 0 || refused.length === 0) return
    this.#end(request, () => request.settle({ kind: 'refused', refused }))
  }

  #again(lane: Lane, ms: number): void {
    this.#clock.cancel(lane.timer)
    const inMs = Math.max(1, Math.ceil(ms - AHEAD_MS))
    lane.againAt = this.#clock.monotonic() + inMs
    lane.timer = this.#clock.timeout(() => {
      lane.againAt = 0
      this.#sweep(lane)
      void this.#pass(lane)
    }, inMs)
  }

  /** Refuses the URLs that new rules forbid. */
  #sweep(lane: Lane): void {
    for (const place of lane.places) {
      const problem = this.#options.refusedAlready(place.wish)
      if (problem !== undefined) this.#refuse(place, problem)
    }
  }

  #soonest(request: TurnRequest): Answer {
    const at = this.#clock.monotonic()
    const waits = request.places.map((place) => {
      const { lane, wish } = place
      const ahead = place.number - (first(lane.places) ?? place).number // an upper bound: some of them may have been answered
      const waitMs = Math.max(1, Math.ceil(Math.max(lane.againAt - at, lane.last.waitMs) + ahead * lane.delayMs))
      return { ...lane.last, waitMs, wish, ahead, refused: request.refused }
    })
    return waits.reduce((one, other) => (other.waitMs < one.waitMs ? other : one))
  }
}

/** The caller has closed its connection. */
export class GoneError extends Error {
  override readonly name = 'GoneError'
}

const first = <T>(of: Set<T>): T | undefined => of.values().next().value

/** The first in line whose caller is connected. */
function present(places: Set<Place>): Place | undefined {
  for (const place of places) if (place.request.caller.isAway !== true) return place
  return undefined
}

/** Notes since when a lane waits for rules. A lane that is busy with the order for its robots.txt still waits for them. */
function noteRules(lane: Lane, { gate }: Wait, now: number): void {
  if (gate === 'robots-in-flight') lane.rulesSince ||= now
  else if (gate !== 'lane-busy') lane.rulesSince = 0
}

/** Time until the next attempt, ms: the ledger's, within limits. For gates whose end is uncertain, attempts keep a minimum distance. */
function sleepMs({ waitMs, gate }: Wait, { delayMs, opensAt, rulesSince }: Lane, now: number): number {
  const opensMs = opensAt - now
  if (gate === 'robots-in-flight')
    return Math.min(LONGEST_MS, Math.max(waitMs, LEAST_MS, Math.min(RULES_MS, (now - rulesSince) / 5)))
  if (gate === 'lane-busy' && opensMs > 0) return opensMs // the exchange ended during the call to the ledger
  if (gate === 'lane-busy') return Math.max(LEAST_MS, Math.min(waitMs, BUSY_MS, delayMs / 2))
  return Math.min(waitMs, MAY_OPEN_EARLIER.has(gate) ? LONG_WAIT_MS : LONGEST_MS)
}
