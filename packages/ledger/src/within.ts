/** The deadline of a call. */

/**
 * Settles as `work` does, or fails after `ms`. When this process has stood still for as long, the answer may be there already: timers
 * are looked at before sockets, so they are read once more.
 */
export async function within<T>(ms: number, work: Promise<T>, late = `no answer within ${ms} ms`): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => setImmediate(() => reject(new Error(late))), ms)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
