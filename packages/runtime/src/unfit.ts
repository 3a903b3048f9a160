/** Ends a process that the ledger refuses for good, because it could not handle the jobs that it takes from the queues. */
import type { Logger } from 'pino'

/**
 * Ends this process when the ledger reports that it does not fit (another number of partitions). Other processes take over its work as
 * after a crash, and the log has the reason.
 */
export function endIfUnfit(error: unknown, log: Logger): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'LEDGER_UNFIT')) return
  log.fatal({ err: error.message }, 'this process cannot go on')
  process.exit(1)
}
