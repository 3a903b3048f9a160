/** Merges several endless sources into one, in the order in which their values arrive. */

type Arrival<T> = { source: AsyncIterator<T>; result?: IteratorResult<T>; error?: unknown }

/**
 * The next value of a source is requested when the last one has been consumed. When one source fails, the others go on; its error is
 * thrown when all have ended.
 */
export async function* merged<T>(iterables: AsyncIterable<T>[]): AsyncGenerator<T, void, undefined> {
  const sources = iterables.map((one) => one[Symbol.asyncIterator]())
  /** in the order in which they were requested, so that no source comes twice before another */
  const requested = new Map<AsyncIterator<T>, Promise<Arrival<T>>>()
  const request = (source: AsyncIterator<T>): void => {
    const arrival = source.next().then(
      (result) => ({ source, result }),
      (error: unknown) => ({ source, error }),
    )
    requested.set(source, arrival)
  }
  for (const source of sources) request(source)
  const errors: unknown[] = []
  try {
    while (requested.size > 0) {
      const { source, result, error } = await Promise.race(requested.values())
      requested.delete(source)
      if (result === undefined) errors.push(error)
      else if (!result.done) {
        yield result.value
        request(source)
      }
    }
    for (const error of errors) throw error
  } finally {
    for (const source of sources) source.return?.().catch(() => undefined)
  }
}
