/** Reads outcomes from the streams in batches. A batch is acknowledged only after it has been written. */
import type { Delivery } from '@decorum/client'
import type { Outcome } from '@decorum/protocol'

const FLUSH_EVERY_MS = 200
const FLUSH_AT = 500

/**
 * Reads until `deliveries` end.
 * @param write   resolves when the batch is on the disk, or need not be. After its first exception it is not called again.
 * @param failed  called at once when `write` throws: the deliveries may continue until the caller ends them
 * @throws the error of `write`; nothing of that batch or of later ones has been acknowledged
 */
export async function collect(
  deliveries: AsyncIterable<Delivery>,
  write: (outcomes: Outcome[]) => Promise<void>,
  failed: (error: unknown) => void = () => undefined,
): Promise<void> {
  let batch: Delivery[] = []
  let failure: { error: unknown } | undefined
  let writing: Promise<void> | undefined

  const writeBatch = async () => {
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
    // If Redis is unavailable, the acknowledgement is sent later, or the outcome is redelivered and recognised as a duplicate.
    await Promise.allSettled(some.map(({ ack }) => ack()))
  }
  const flush = async () => {
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
