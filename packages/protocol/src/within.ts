/** The deadline of a wait for another process; in this package because every package that waits depends on it. */
import type { Clock } from './time.ts'

/**
 * Settles as `work` does, or fails after `ms` with the error that `late` returns; `work` itself continues. If this process has been
 * suspended for that long, the answer may have arrived: timers run before sockets, so sockets are read once more.
 * @param late  called only after the deadline
 */
export async function within<T>(
  clock: Clock,
  work: Promise<T>,
  ms: number,
  late: () => Error = () => new Error(`no answer within ${ms} ms`),
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  let isOver = false
  const timer = clock.timeout(() => clock.soon(() => isOver || reject(late())), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    isOver = true
    clock.cancel(timer)
  }
}
