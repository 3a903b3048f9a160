/**
 * ⑤ The permit as this process holds it: when it was asked for, how long it lasts, whether it may still be used. Two
 * clocks are read, because a suspended machine stops the monotonic one: the larger length counts.
 */
import type { HeldLane, LaneRef, Ledger, StartAnswer } from '@decorum/ledger'
import { LedgerUnavailableError } from '@decorum/ledger'
import { namesRobotsTxt, type Order } from '@decorum/protocol'
import { crashPoint } from '@decorum/runtime'
import { FRESH_PERMIT_MS, LEASE_MARGIN_MS, SEND_WINDOW_MS } from '../limits.ts'

/** Asks for a permit again that has grown old: undefined, at once or in the end, when the request may be sent; else why not. */
export type Confirm = () => Promise<string | undefined> | undefined

/** An instant on both clocks: the larger length since then counts. */
export type Since = { monotonic: number; wall: number }
export const sinceNow = (): Since => ({ monotonic: performance.now(), wall: Date.now() })
const passed = ({ monotonic, wall }: Since): number => Math.max(performance.now() - monotonic, Date.now() - wall)

/** A permit, and how old the ledger's latest word on it is, ms. */
export type AskedAgain = { age(): number; confirm: Confirm }

/**
 * A permit that is asked for again when it is not fresh any more.
 * @param since  when it was asked for
 * @param held   the lanes that the request holds by it, of one partition each
 */
export function confirming(ledger: Pick<Ledger, 'confirm'>, since: Since, held: HeldLane[][]): AskedAgain {
  let asked = since
  const ask = async (): Promise<string | undefined> => {
    const asking = sinceNow()
    try {
      const answers = await Promise.all(held.map((lanes) => ledger.confirm(lanes)))
      const why = answers.find((answer) => answer !== 'granted')
      if (why !== undefined) return `the permit was asked for again and refused: ${why}`
      asked = asking
      return undefined
    } catch (error) {
      if (error instanceof LedgerUnavailableError)
        return 'the permit was asked for again, and the ledger did not answer'
      throw error
    }
  }
  const age = (): number => passed(asked)
  return { age, confirm: () => (age() <= FRESH_PERMIT_MS ? undefined : ask()) }
}

export type Lease = {
  /** time left for the whole exchange, ms: the deadline, cut where the lease would end */
  deadlineMs(): number
  /** why nothing may be sent any more, or undefined */
  lastCheck(): string | undefined
  /** before each request; where it has something to ask, `lastCheck` goes by the answer */
  confirm: Confirm
  /** the same for what follows a first request under the same lease (hops of robots.txt) */
  stillHeld(): string | undefined
  /** ms since begin was called */
  age(): number
  readonly leaseMs: number
}

export class HeldLease implements Lease {
  readonly leaseMs: number
  readonly #since: Since
  readonly #permit: AskedAgain
  readonly #fetchDeadlineMs: number
  readonly #usableMs: number

  /**
   * @param since        when the permit was first asked for: the reply may be late, the lease began without us
   * @param leaseSpanMs  LEASE_MS − FETCH_DEADLINE_MS: what the margin is taken from
   */
  constructor(since: Since, permit: AskedAgain, leaseMs: number, fetchDeadlineMs: number, leaseSpanMs: number) {
    this.leaseMs = leaseMs
    this.#since = since
    this.#permit = permit
    this.#fetchDeadlineMs = fetchDeadlineMs
    this.#usableMs = leaseMs - Math.min(LEASE_MARGIN_MS, Math.max(leaseSpanMs / 3, leaseMs / 10))
  }

  age(): number {
    return passed(this.#since)
  }

  deadlineMs(): number {
    return Math.min(this.#fetchDeadlineMs, this.#usableMs - this.age())
  }

  lastCheck(): string | undefined {
    return this.#permit.age() > SEND_WINDOW_MS ? `the permit is older than ${SEND_WINDOW_MS} ms` : this.stillHeld()
  }

  confirm(): ReturnType<Confirm> {
    return this.#permit.confirm()
  }

  stillHeld(): string | undefined {
    return this.#isOver(this.age())
  }

  #isOver(age: number): string | undefined {
    return age >= this.#usableMs ? 'the lease is over' : undefined
  }
}

export type Begun =
  | {
      kind: 'lease'
      lease: Lease /** the visit to the clock that was started with it */
      clock?: { fence: number; delayMs: number }
    }
  | { kind: 'refused'; why: Extract<StartAnswer, { kind: 'refused' }>['why'] | 'too-early' | 'ledger-unavailable' }

/** Times that begin may say 'early' to one order; each time it is asked again when the ledger says so. */
const MAX_EARLY = 8
const LONGEST_EARLY_MS = 1_000

/**
 * Asks the ledger in the instant before the request, and again when it was too early.
 * @param fetchDeadlineMs  longest exchange
 * @param leaseSpanMs      LEASE_MS − FETCH_DEADLINE_MS: what the margin is taken from
 * @param clock            lane that is begun with the order's own, or not at all
 */
export async function startLease(
  ledger: Pick<Ledger, 'start' | 'confirm'>,
  order: Order,
  fetchDeadlineMs: number,
  leaseSpanMs: number,
  clock?: LaneRef,
): Promise<Begun> {
  const { agent, origin, fence, version, delayMs } = order
  // every request whose URL is a robots.txt is the one robots fetch of its origin
  const isRobotsPage = order.kind === 'page' && namesRobotsTxt(order.path)
  const kind = isRobotsPage ? ('robots-page' as const) : order.kind
  for (let tries = 0; tries < MAX_EARLY; tries++) {
    const since = sinceNow()
    crashPoint('start.before')
    let permit: StartAnswer
    try {
      const own = { kind, agent, origin, fence, version, delayMs }
      permit = await ledger.start(clock === undefined ? own : { ...own, clock })
    } catch (error) {
      // If the script ran and its reply was lost, the lease ends by itself; nothing is sent under it.
      if (error instanceof LedgerUnavailableError) return { kind: 'refused', why: 'ledger-unavailable' }
      throw error
    }
    if (permit.kind === 'granted') {
      crashPoint('start.after')
      // Asked a little ahead, so that the reply is here when the lane opens: the rest is waited out by our own clock.
      if (permit.waitMs !== undefined) await exactly(permit.waitMs)
      const held: HeldLane[] = [{ agent, origin, fence, version }]
      if (clock !== undefined && permit.clock !== undefined) held.push({ ...clock, fence: permit.clock.fence })
      const asked = confirming(ledger, since, [held])
      const lease = new HeldLease(since, asked, permit.leaseMs, fetchDeadlineMs, leaseSpanMs)
      return permit.clock === undefined ? { kind: 'lease', lease } : { kind: 'lease', lease, clock: permit.clock }
    }
    if (permit.kind === 'refused') return permit
    if (permit.waitMs > LONGEST_EARLY_MS) break // its delay has grown: neither a slot nor other clocks wait for that
    await later(permit.waitMs)
  }
  return { kind: 'refused', why: 'too-early' }
}

/** Waits; a whole millisecond more than asked, since timers may fire a fraction early. */
export const later = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.ceil(Math.min(ms, 60_000))))

/** Waits at least that long, and as little more as a timer of whole milliseconds allows. */
async function exactly(ms: number): Promise<void> {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, Math.floor(left))))
  }
}
