/** Ends leases that have expired, for every service that calls `reap`. */
import { step } from '@decorum/robots'
import type { Ledger } from './ledger.ts'
import type { Reaped } from './types.ts'

export type EndingLeases = {
  /** called after each call of `reap`, whether or not leases have ended */
  onReaped?: (reaped: Reaped) => void
  /** called before the end of each robots fetch is recorded */
  onRobotsFetch?: () => void
}

/**
 * Ends the expired leases of a partition. A robots fetch that ended this way is recorded as a timeout.
 * @throws LedgerUnavailableError; a robots fetch that is not recorded by then expires
 */
export async function endLeases(
  ledger: Pick<Ledger, 'reap' | 'record' | 'now' | 'clock'>,
  partition: number,
  { onReaped, onRobotsFetch }: EndingLeases = {},
): Promise<void> {
  for (;;) {
    const reaped = await ledger.reap(partition)
    onReaped?.(reaped)
    for (const fetch of reaped.robotsFetches) {
      onRobotsFetch?.()
      const event = { kind: 'unanswered' as const, reason: 'timeout' as const, jitter: ledger.clock.random() }
      const state = step(fetch.state, event, ledger.now(partition))
      await ledger.record({ ...fetch, state, withPage: true, delays: [], delayMs: 0, elapsedMs: 0 })
    }
    if (reaped.more !== true) return
  }
}
