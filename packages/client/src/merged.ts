/** Merges several endless sources into one, in the order in which their values arrive. */

type Offer<T> = { value: T; taken: () => void }

/**
 * The next value of a source is requested when the last one has been consumed. When one source fails, the others go on; its error is
 * thrown when all have ended.
 */
export async function* merged<T>(sources: AsyncIterable<T>[]): AsyncGenerator<T, void, undefined> {
  const offers: Offer<T>[] = []
  let open = sources.length
  let wake = (): void => undefined
  let failed: Error | undefined
  let left = false
  const pump = async (source: AsyncIterable<T>): Promise<void> => {
    try {
      for await (const value of source) {
        if (left) return
        await new Promise<void>((taken) => {
          offers.push({ value, taken })
          wake()
        })
      }
    } catch (error) {
      failed ??= error instanceof Error ? error : new Error(String(error))
    } finally {
      open--
      wake()
    }
  }
  for (const source of sources) void pump(source)
  try {
    for (;;) {
      const offer = offers.shift()
      if (offer !== undefined) {
        yield offer.value
        offer.taken()
      } else if (open === 0) {
        if (failed !== undefined) throw failed
        return
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    left = true
    for (const { taken } of offers) taken()
  }
}
