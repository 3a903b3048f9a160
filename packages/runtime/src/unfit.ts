/** Ends a process that the ledger refuses for good, because it could do nothing with the jobs that it takes out of the queues. */
import type { Logger } from 'pino'

/**
 * Ends this process when the ledger says that it does not fit (another number of partitions). Other processes take over its work
 * as after a crash, and the log tells why.
 */
export function endIfUnfit(error: unknown, log: Logger): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'LEDGER_UNFIT')) return
  log.fatal({ err: error.message }, 'this process cannot go on')
  process.exit(1)
}
