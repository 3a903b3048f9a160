/** Keeps a page in a sink that may be slow or fail: the outcome is then written without a reference, and the lane goes on. */
import { type ArchiveRef, SECOND } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import type { Log } from '../orders/tools.ts'
import type { Stats } from '../process/stats.ts'
import type { Page, Sink } from './sink.ts'

/** The longest that an outcome waits for its reference. */
const STORE_TIMEOUT_MS = 5 * SECOND

export type KeepTools = { sink: Sink; stats: Pick<Stats, 'sinkFailed'>; log: Pick<Log, 'error'> }

/** @returns where the page lies; undefined when the sink does not say, or when it failed, which is counted and logged */
export async function keep(page: Page, { sink, stats, log }: KeepTools): Promise<ArchiveRef | undefined> {
  const waiting = new AbortController()
  const tooLate = (): Error => {
    const error = new Error(`the sink did not keep a page within ${STORE_TIMEOUT_MS} ms`)
    waiting.abort(error)
    return error
  }
  try {
    const stored = (async () => sink.store(page, waiting.signal))() // a sink of the operator's own may throw at once
    return await within(stored, STORE_TIMEOUT_MS, tooLate)
  } catch (error) {
    stats.sinkFailed(error, log)
    return undefined
  }
}
