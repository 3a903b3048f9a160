/** Outcomes of a crawl out of the streams, into the tally and the file; acknowledged when they are written. */
import type { Delivery } from '@decorum/client'
import type { OutcomeFile } from './outcome-file.ts'
import type { Tally } from './tally.ts'

const FLUSH_EVERY_MS = 200
const FLUSH_AT = 500

/**
 * Reads until `deliveries` end, or until the file cannot be written.
 * @param onNew  called after each outcome that counts
 * @throws what the file system says; nothing that is not written has been acknowledged
 */
export async function collect(
  deliveries: AsyncIterable<Delivery>,
  tally: Tally,
  file: OutcomeFile,
  onNew: () => void,
): Promise<void> {
  let unacknowledged: Delivery[] = []
  let size = 0
  let failure: Error | undefined
  let flushing: Promise<void> | undefined
  const write = async (): Promise<void> => {
    size = 0
    await file.flush()
    const written = unacknowledged
    unacknowledged = []
    const answers = await Promise.allSettled(written.map(({ ack }) => ack()))
    // Redis is away: they stay ours to acknowledge
    unacknowledged.push(...written.filter((_, index) => answers[index]?.status === 'rejected'))
  }
  const flush = (): Promise<void> => {
    flushing ??= write()
      .catch((error: unknown) => {
        failure = error instanceof Error ? error : new Error(String(error))
      })
      .finally(() => {
        flushing = undefined
      })
    return flushing
  }
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS)
  try {
    for await (const delivery of deliveries) {
      const { outcome } = delivery
      const recorded = tally.record(outcome)
      const dealtWith = (): void => void unacknowledged.push(delivery)
      if (recorded !== 'new') dealtWith()
      else {
        file.add(outcome, tally.lineOf(outcome.id), dealtWith)
        onNew()
      }
      if (++size >= FLUSH_AT) await flush()
      if (failure !== undefined) break
    }
  } finally {
    clearInterval(timer)
    await flushing
    await flush()
  }
  if (failure !== undefined) throw failure
}
