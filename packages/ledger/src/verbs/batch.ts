/**
 * Calls of one turn of the event loop as one call, or of the time for which the first of them can wait. A script costs Redis about
 * 10 µs before it does anything, and its round trip costs the caller more; lanes that become due together share these costs.
 */
import type { Clock, Timer } from '@decorum/protocol'
import type { Verb } from '../calls.ts'
import { LedgerUnavailableError } from '../errors.ts'

/** Items of one call: about 1 ms of Redis (measured: docs/decisions/0008-what-a-url-costs.md). */
export const MAX_ITEMS = 200

export type Batcher<In, Out> = (item: In) => Promise<Out>

type Bounds<In> = {
  /** the sizes of the items of a call come to this at most, but for one that is larger by itself */
  most?: number
  /** 1, as it comes */
  sizeOf?: (item: In) => number
  /** how long an item may wait for others, ms; 0, as it comes, sends all that wait at the end of this turn */
  waits?: (item: In) => number
}

type Waiting<In, Out> = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }

/**
 * @param flush  answers in the order asked; when it fails, every item of the batch fails, and so does each when there is not one answer to
 *               each, because it would be unknown whose answer is missing
 */
export function batched<In, Out>(
  clock: Clock,
  verb: Verb,
  flush: (items: In[]) => Promise<Out[]>,
  { most = MAX_ITEMS, sizeOf = () => 1, waits = () => 0 }: Bounds<In> = {},
): Batcher<In, Out> {
  let waiting: Waiting<In, Out>[] = []
  /** when all that wait are sent; undefined when nothing waits, 0 at the end of this turn */
  let sendAt: number | undefined
  let timer: Timer | undefined
  const send = (batch: Waiting<In, Out>[]): void => {
    // async, so that an error thrown before anything is sent is a rejection like any other
    const answered = (async () => flush(batch.map(({ item }) => item)))()
    answered
      .then((answers) => {
        if (answers.length !== batch.length)
          throw new LedgerUnavailableError(verb, `${answers.length} answers to ${batch.length} items`)
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Out)
      })
      .catch((error: unknown) => {
        for (const { reject } of batch) reject(error)
      })
  }
  const drain = (): void => {
    clock.cancel(timer)
    const all = waiting
    waiting = []
    sendAt = undefined
    let batch: Waiting<In, Out>[] = []
    let size = 0
    for (const next of all) {
      const more = sizeOf(next.item)
      if (batch.length > 0 && size + more > most) {
        send(batch)
        batch = []
        size = 0
      }
      batch.push(next)
      size += more
    }
    send(batch)
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (sendAt === 0) return
      const ms = waits(item)
      const at = ms === 0 ? 0 : clock.monotonic() + ms
      if (sendAt !== undefined && at >= sendAt) return
      clock.cancel(timer)
      sendAt = at
      if (at === 0) clock.soon(drain)
      else timer = clock.timeout(drain, ms)
    })
}
