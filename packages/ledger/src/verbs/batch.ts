/**
 * Calls of one turn of the event loop as one call. A script costs Redis about 10 µs before it does anything; twenty lanes that
 * become due together share that.
 */

/** Items of one call: about 1 ms of Redis (measured: docs/decisions/0008-what-a-url-costs.md). */
export const MAX_ITEMS = 200

export type Batcher<In, Out> = (item: In) => Promise<Out>

type Waiting<In, Out> = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }

/**
 * @param flush  answers in the order asked; when it fails, every item of the batch fails
 * @param most   items per call
 */
export function batched<In, Out>(flush: (items: In[]) => Promise<Out[]>, most: number): Batcher<In, Out> {
  let waiting: Waiting<In, Out>[] = []
  const send = (batch: Waiting<In, Out>[]): void => {
    // async, so that an error thrown before anything is sent is a rejection like any other
    const answered = (async () => flush(batch.map(({ item }) => item)))()
    answered.then(
      (answers) => {
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Out)
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
  const drain = (): void => {
    const all = waiting
    waiting = []
    for (let at = 0; at < all.length; at += most) send(all.slice(at, at + most))
  }
  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(drain)
      waiting.push({ item, resolve, reject })
    })
}
