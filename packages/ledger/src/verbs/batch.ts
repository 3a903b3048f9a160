/**
 * Combines the calls of one turn of the event loop, or of the time for which the first of them can wait, into one. A script costs Redis
 * about 10 µs before it does any work, and its round trip costs the caller more; lanes that become due together share these costs.
 */
import type { Clock, Timer } from '@decorum/protocol'
import type { Verb } from '../calls.ts'
import { LedgerUnavailableError } from '../errors.ts'

/** Number of items in one call: about 1 ms of Redis (measured: docs/decisions/0008-what-a-url-costs.md). */
export const MAX_ITEMS = 200

export type Batcher<In, Out> = (item: In) => Promise<Out>

type Bounds<In> = {
  /** largest total size of the items of a call; a single item may be larger */
  most?: number
  /** default 1 */
  sizeOf?: (item: In) => number
  /** how long an item may wait for others, ms; default 0: all waiting items are sent at the end of this turn */
  waits?: (item: In) => number
}

type Waiting<In, Out> = { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }

/**
 * @param flush  returns the answers in order; when it fails, every item of the batch fails. When the number of answers differs from that of
 * the items, each fails, because the answers cannot be assigned
 */
export function batched<In, Out>(
  clock: Clock,
  verb: Verb,
  flush: (items: In[]) => Promise<Out[]>,
  { most = MAX_ITEMS, sizeOf = () => 1, waits = () => 0 }: Bounds<In> = {},
): Batcher<In, Out> {
  let waiting: Waiting<In, Out>[] = []
  /** instant at which all waiting items are sent, on `clock.monotonic()`; 0: at the end of this turn; undefined: none wait */
  let sendAt: number | undefined
  let timer: Timer | undefined
  const send = (batch: Waiting<In, Out>[]): void => {
    // async, so that an error thrown before anything is sent is also a rejection
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
