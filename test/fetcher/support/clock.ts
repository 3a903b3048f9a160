/**
 * A clock that the test moves: `performance.now()`, `Date.now()`, and the timers of the process's own clock, by which leases and deadlines
 * run. Sockets, undici's timers and the test's own polls go on in real time, so a machine that stands still for a while takes nothing from a
 * deadline.
 */
import { type Clock, systemClock } from '@decorum/protocol'
import { expect, vi } from 'vitest'

/** What `start` begins, on a clock that stands still but for `pass`. */
export async function onStoppedClock<T>(start: (pass: (ms: number) => void) => Promise<T>): Promise<T> {
  let passed = 0
  const timers = new Map<object, { at: number; run: () => void }>()
  const timeout: Clock['timeout'] = (run, ms) => {
    const timer = { unref: () => timer }
    timers.set(timer, { at: passed + ms, run })
    return timer
  }
  const { cancel } = systemClock
  const stopped = [
    ...[performance, Date].map((clock) => {
      const from = Math.ceil(clock.now())
      return vi.spyOn(clock, 'now').mockImplementation(() => from + passed)
    }),
    vi.spyOn(systemClock, 'timeout').mockImplementation(timeout),
    vi.spyOn(systemClock, 'cancel').mockImplementation((timer) => {
      if (timer === undefined || !timers.delete(timer)) cancel(timer)
    }),
    vi.spyOn(systemClock, 'sleep').mockImplementation((ms) => new Promise((resolve) => void timeout(resolve, ms))),
  ]
  try {
    return await start((ms) => {
      passed += ms
      for (const [timer, { at, run }] of [...timers]) if (at <= passed && timers.delete(timer)) run()
    })
  } finally {
    for (const one of stopped) one.mockRestore()
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
