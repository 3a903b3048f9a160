/**
 * A clock of the fetcher that the test moves: `performance.now()`, `Date.now()`, and the timers that our own code sets, by which leases
 * and deadlines run. Sockets, undici's timers and the test's own polls go on in real time, so a machine that stands still for a while takes
 * nothing from a deadline.
 */
import { expect, vi } from 'vitest'

/** @returns whether the function that called our caller is code of this repository */
function isOurs(caller: (...args: never[]) => unknown): boolean {
  const { stackTraceLimit } = Error
  const at = { stack: '' }
  Error.stackTraceLimit = 1
  Error.captureStackTrace(at, caller)
  Error.stackTraceLimit = stackTraceLimit
  return /\/(packages|services)\/[^/]+\/src\//.test(at.stack)
}

/** What `start` begins, on a clock that stands still but for `pass`. */
export async function onStoppedClock<T>(start: (pass: (ms: number) => void) => Promise<T>): Promise<T> {
  const real = { set: setTimeout, clear: clearTimeout }
  let passed = 0
  const timers = new Map<unknown, { at: number; run: () => void }>()
  const set = (run: () => void, ms = 0, ...rest: []): unknown => {
    if (!isOurs(set)) return real.set(run, ms, ...rest)
    const timer = { unref: () => timer }
    timers.set(timer, { at: passed + ms, run })
    return timer
  }
  const clocks = [performance, Date].map((clock) => {
    const from = Math.ceil(clock.now())
    return vi.spyOn(clock, 'now').mockImplementation(() => from + passed)
  })
  vi.stubGlobal('setTimeout', set)
  vi.stubGlobal('clearTimeout', (timer?: NodeJS.Timeout) => timers.delete(timer) || real.clear(timer))
  try {
    return await start((ms) => {
      passed += ms
      for (const [timer, { at, run }] of [...timers]) if (at <= passed && timers.delete(timer)) run()
    })
  } finally {
    vi.unstubAllGlobals()
    for (const clock of clocks) clock.mockRestore()
  }
}

/** What `start` comes to when a deadline passes, `ms` after its beginning, once it has come so far. */
export const whenDeadlinePasses = <T>(ms: number, hasComeSoFar: () => boolean, start: () => Promise<T>): Promise<T> =>
  onStoppedClock(async (pass) => {
    const result = start()
    await expect.poll(hasComeSoFar).toBe(true)
    pass(ms)
    return await result
  })
