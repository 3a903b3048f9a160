/** Reads outcomes from the streams in batches. A batch is acknowledged only after it has been written. */
import type { Delivery } from '@decorum/client'
import type { Outcome } from '@decorum/protocol'

const FLUSH_EVERY_MS = 200
const FLUSH_AT = 500

/**
 * Reads until `deliveries` end.
 * @param write   resolves when these are on the disk, or need not be. The first time it throws is the last time it is called.
 * @param failed  told at once when it throws: the deliveries may not end before the caller ends them
 * @throws what `write` has thrown; nothing of that batch, nor of what came later, has been acknowledged
 */
export async function collect(
  deliveries: AsyncIterable<Delivery>,
  write: (outcomes: Outcome[]) => Promise<void>,
  failed: (error: unknown) => void = () => undefined,
): Promise<void> {
  let batch: Delivery[] = []
  let failure: { error: unknown } | undefined
  let writing: Promise<void> | undefined

  const writeBatch = async (): Promise<void> => {
    const some = batch
    batch = []
    if (some.length === 0 || failure !== undefined) return
    try {
      await write(some.map(({ outcome }) => outcome))
    } catch (error) {
      failure = { error }
      failed(error)
      return
    }
    // Redis is away: the acknowledgement is sent when it is back, or the outcome is delivered again and recognised.
    await Promise.allSettled(some.map(({ ack }) => ack()))
  }
  const flush = async (): Promise<void> => {
    await writing
    writing = writeBatch()
    await writing
    writing = undefined
  }
  const timer = setInterval(() => {
    if (writing === undefined) void flush()
  }, FLUSH_EVERY_MS)
  try {
    for await (const delivery of deliveries) {
      batch.push(delivery)
      if (batch.length >= FLUSH_AT) await flush()
      if (failure !== undefined) break
    }
  } finally {
    clearInterval(timer)
    await flush()
  }
  if (failure !== undefined) throw failure.error
}
