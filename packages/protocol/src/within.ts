/** The deadline of a wait for another process. It is here because every package that waits for one depends on this package. */
import type { Clock } from './time.ts'

/**
 * Settles as `work` does, or fails after `ms` with the error that `late` returns; `work` itself goes on. When this process has stood
 * still for as long, the answer may be there already: timers are looked at before sockets, so sockets are read once more.
 * @param late  called only when it is too late
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
