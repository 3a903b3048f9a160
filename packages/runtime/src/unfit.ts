/** A process that the ledger refuses for good: it would take jobs and orders out of the queues and could do nothing with them. */
import type { Logger } from 'pino'

/**
 * Ends this process when the ledger says that it does not fit (another number of partitions): what it had in hand comes back
 * to others as after a crash, and whoever started it reads why.
 */
export function endIfUnfit(error: unknown, log: Logger): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'LEDGER_UNFIT')) return
  log.fatal({ err: error.message }, 'this process cannot go on')
  process.exit(1)
}
