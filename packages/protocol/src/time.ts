/** Instants and lengths, and the clock of a process. `…At` is an instant, `…Ms` a length; both are milliseconds. */
import { setTimeout as sleepUnless } from 'node:timers/promises'

/** Milliseconds since 1970 UTC; fractions are microseconds of Redis's clock. */
export type Instant = number

/** What `timeout` and `interval` return, for `cancel`. */
export interface Timer {
  /** The process may end while the timer runs. */
  unref(): Timer
}

/**
 * Time, timers and random numbers of one process. All code uses this interface (the linter refuses `Date.now`, `setTimeout` and the like),
 * so that a test can run a whole fleet with its own clock and seed. The caller that opens a ledger passes the clock in, and code that has
 * the ledger uses `ledger.clock`; all other code gets the clock as an argument.
 */
export interface Clock {
  /**
   * The clock of this machine, for people, traces and values that never leave the machine. An instant that is stored, sent, or compared
   * with such an instant must be from Redis's clock (`ledger.wall()`): clocks of machines differ by hours.
   */
  machine(): Instant
  /** Only goes forward, from an arbitrary start, ms; stands still while the machine is suspended. */
  monotonic(): number
  /** Calls `act` once, after `ms`: whole milliseconds, a fraction is dropped. */
  timeout(act: () => void, ms: number): Timer
  /** Calls `act` every `ms`. */
  interval(act: () => void, ms: number): Timer
  /** Calls `act` when all events that are ready by now have been handled, including sockets. */
  soon(act: () => void): void
  cancel(timer: Timer | undefined): void
  /**
   * Resolves when at least `ms` have passed, or as soon as `signal` aborts; it never rejects.
   * @param options.ref  false: the sleep does not keep the process alive
   */
  sleep(ms: number, options?: { signal?: AbortSignal; ref?: false }): Promise<void>
  /** [0, 1), for jitter: not for values that must be hard to guess */
  random(): number
}

/** The real clock. Each function looks up Node's function at the call, so that a test may replace it. */
export const systemClock: Clock = {
  machine: () => Date.now(),
  monotonic: () => performance.now(),
  timeout: (act, ms) => setTimeout(act, ms),
  interval: (act, ms) => setInterval(act, ms),
  soon: (act) => void setImmediate(act),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  sleep: (ms, options) =>
    options === undefined
      ? new Promise((resolve) => setTimeout(resolve, Math.ceil(ms)))
      : sleepUnless(Math.ceil(ms), undefined, options).catch(() => undefined),
  random: () => Math.random(),
}

/** The time limit of a call, and the clock that measures it. */
export type Deadline = { clock: Clock; ms: number }

/** A signal that aborts after `ms`. Its timer does not keep the process alive. */
export function abortAfter(clock: Clock, ms: number): AbortSignal {
  const late = new AbortController()
  clock
    .timeout(() => late.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), ms)
    .unref()
  return late.signal
}

/** The last valid instant: the last one that a Date can hold, in the year 275760. */
export const LAST_INSTANT: Instant = 8_640_000_000_000_000

/** Means "until an operator ends it": the year 2100. Pauses, blocks and operators' delays without an end have it. */
export const FOREVER: Instant = 4_102_444_800_000
export const isForever = (until: Instant): boolean => until >= FOREVER

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
