/**
 * ⑤ The permit as this process holds it: when it was asked for, how long it lasts, whether it may still be used. Two
 * clocks are read, because a suspended machine stops the monotonic one: the larger length counts.
 */
import type { LaneRef, Ledger, Permit } from '@decorum/ledger'
import { LedgerUnavailableError } from '@decorum/ledger'
import { namesRobotsTxt, type Order } from '@decorum/protocol'
import { crashPoint } from '@decorum/service'
import { LEASE_MARGIN_MS, SEND_WINDOW_MS } from './limits.ts'

export type Lease = {
  /** time left for the whole exchange, ms: the deadline, cut where the lease would end */
  deadlineMs(): number
  /** why nothing may be sent any more, or undefined */
  lastCheck(): string | undefined
  /** the same for what follows a first request under the same lease (hops of robots.txt) */
  stillHeld(): string | undefined
  /** ms since begin was called */
  age(): number
  readonly leaseMs: number
}

/** An instant on both clocks. */
export type Since = { monotonic: number; wall: number }
export const sinceNow = (): Since => ({ monotonic: performance.now(), wall: Date.now() })

/**
 * @param since            when the ledger was asked for it: the reply may be late, the lease began without us
 * @param fetchDeadlineMs  longest exchange
 * @param leaseSpanMs      LEASE_MS − FETCH_DEADLINE_MS: what the margin is taken from
 */
export const heldLease = (since: Since, leaseMs: number, fetchDeadlineMs: number, leaseSpanMs: number): Lease =>
  new HeldLease(since, leaseMs, fetchDeadlineMs, leaseSpanMs)

class HeldLease implements Lease {
  readonly leaseMs: number
  readonly #monotonic: number
  readonly #wall: number
  readonly #fetchDeadlineMs: number
  readonly #usableMs: number

  constructor(since: Since, leaseMs: number, fetchDeadlineMs: number, leaseSpanMs: number) {
    this.leaseMs = leaseMs
    this.#monotonic = since.monotonic
    this.#wall = since.wall
    this.#fetchDeadlineMs = fetchDeadlineMs
    this.#usableMs = leaseMs - Math.min(LEASE_MARGIN_MS, Math.max(leaseSpanMs / 3, leaseMs / 10))
  }

  age(): number {
    return Math.max(performance.now() - this.#monotonic, Date.now() - this.#wall)
  }

  deadlineMs(): number {
    return Math.min(this.#fetchDeadlineMs, this.#usableMs - this.age())
  }

  lastCheck(): string | undefined {
    const age = this.age()
    return age > SEND_WINDOW_MS ? `the permit is older than ${SEND_WINDOW_MS} ms` : this.#isOver(age)
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
      lease: Lease /** the visit to the clock that was begun with it */
      clock?: { fence: number; gapMs: number }
    }
  | { kind: 'refused'; why: Extract<Permit, { kind: 'refused' }>['why'] | 'too-early' | 'ledger-unavailable' }

/** Times that begin may say 'early' to one order; each time it is asked again when the ledger says so. */
const MAX_EARLY = 8
const LONGEST_EARLY_MS = 1_000

/**
 * Asks the ledger in the instant before the request, and again when it was too early.
 * @param fetchDeadlineMs  longest exchange
 * @param leaseSpanMs      LEASE_MS − FETCH_DEADLINE_MS: what the margin is taken from
 * @param clock            lane that is begun with the order's own, or not at all
 */
export async function beginLease(
  ledger: Pick<Ledger, 'begin'>,
  order: Order,
  fetchDeadlineMs: number,
  leaseSpanMs: number,
  clock?: LaneRef,
): Promise<Begun> {
  const { agent, origin, fence, version, gapMs } = order
  // every request whose URL is a robots.txt is the one robots fetch of its origin
  const isRobotsPage = order.kind === 'page' && namesRobotsTxt(order.path)
  const kind = isRobotsPage ? ('robots-page' as const) : order.kind
  for (let tries = 0; tries < MAX_EARLY; tries++) {
    const since = sinceNow()
    crashPoint('begin.before')
    let permit: Permit
    try {
      const own = { kind, agent, origin, fence, version, gapMs }
      permit = await ledger.begin(clock === undefined ? own : { ...own, clock })
    } catch (error) {
      // If the script ran and its reply was lost, the lease ends by itself; nothing is sent under it.
      if (error instanceof LedgerUnavailableError) return { kind: 'refused', why: 'ledger-unavailable' }
      throw error
    }
    if (permit.kind === 'granted') {
      crashPoint('begin.after')
      // Asked a little ahead, so that the reply is here when the lane opens: the rest is waited out by our own clock.
      if (permit.waitMs !== undefined) await exactly(permit.waitMs)
      const lease = heldLease(since, permit.leaseMs, fetchDeadlineMs, leaseSpanMs)
      return permit.clock === undefined ? { kind: 'lease', lease } : { kind: 'lease', lease, clock: permit.clock }
    }
    if (permit.kind === 'refused') return permit
    if (permit.waitMs > LONGEST_EARLY_MS) break // its gap has grown: neither a slot nor other clocks wait for that
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
