/** Keeps a page in a sink that may be slow or fail: the outcome is then written without a reference, and the lane continues. */
import type { Ledger } from '@decorum/ledger'
import type { ArchiveRef } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import type { Stats } from '../stats.ts'
import type { Page, Sink } from './sink.ts'

export type KeepTools = {
  ledger: Pick<Ledger, 'clock'>
  sink: Sink
  stats: Pick<Stats, 'sinkFailed'>
  log: { error(fields: object, message: string): void }
}

/**
 * @param ms  how long the outcome waits for its reference
 * @returns   where the page is stored; undefined when the sink does not report that, or when it failed, which is counted and logged
 */
export async function keep(
  page: Page,
  ms: number,
  { ledger, sink, stats, log }: KeepTools,
): Promise<ArchiveRef | undefined> {
  const waiting = new AbortController()
  const tooLate = (): Error => {
    const error = new Error(`the sink did not keep a page within ${Math.round(ms)} ms`)
    waiting.abort(error)
    return error
  }
  try {
    const stored = (async () => sink.store(page, waiting.signal))() // an operator's sink may throw at once
    return await within(ledger.clock, stored, ms, tooLate)
  } catch (error) {
    stats.sinkFailed(error, log)
    return undefined
  }
}
