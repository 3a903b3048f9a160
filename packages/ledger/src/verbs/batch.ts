/**
 * Calls of one turn of the event loop as one call, or of the time for which the first of them can wait. A script costs Redis about
 * 10 µs before it does anything, and its round trip costs the caller more; twenty lanes that become due together share that.
 */

/** Items of one call: about 1 ms of Redis (measured: docs/decisions/0008-what-a-url-costs.md). */
export const MAX_ITEMS = 200

export type Batcher<In, Out> = (item: In) => Promise<Out>

type Waiting<In, Out> = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }

/**
 * @param flush  answers in the order asked; when it fails, every item of the batch fails
 * @param most   items per call
 * @param waits  how long an item may wait for others, ms; 0, as it comes, sends all that wait at the end of this turn
 */
export function batched<In, Out>(
  flush: (items: In[]) => Promise<Out[]>,
  most: number,
  waits: (item: In) => number = atOnce,
): Batcher<In, Out> {
  let waiting: Waiting<In, Out>[] = []
  /** when all that wait are sent; undefined when nothing waits, 0 at the end of this turn */
  let sendAt: number | undefined
  let timer: NodeJS.Timeout | undefined
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
    clearTimeout(timer)
    const all = waiting
    waiting = []
    sendAt = undefined
    for (let at = 0; at < all.length; at += most) send(all.slice(at, at + most))
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (sendAt === 0) return
      const ms = waits(item)
      const at = ms === 0 ? 0 : performance.now() + ms
      if (sendAt !== undefined && at >= sendAt) return
      clearTimeout(timer)
      sendAt = at
      if (at === 0) setImmediate(drain)
      else timer = setTimeout(drain, ms)
    })
}

const atOnce = (): number => 0
