/** Deadlines: waiting for something that may never end. */

/** Rejects with what `late` returns when `work` has not ended after `ms`; `work` itself goes on. */
export function within<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

const CLOSE_MS = 5_000

/**
 * Waits until all of `work` has ended, and at most `ms`. Closing a connection may wait for a Redis that is gone; a service
 * that was asked to stop has to stop all the same.
 */
export async function closeWithin(work: Promise<unknown>[], ms = CLOSE_MS): Promise<void> {
  await within(Promise.allSettled(work), ms, () => new Error('closing takes too long')).catch(() => {})
}
