/** Closes the resources of a service within a bounded time. */
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'

const CLOSE_MS = 5_000

/**
 * Waits until all of `work` has ended, and at most `ms`. Closing a connection may wait for a Redis that is gone, but a stopping service
 * must end.
 */
export async function closeWithin(clock: Clock, work: Promise<unknown>[], ms = CLOSE_MS): Promise<void> {
  await within(clock, Promise.allSettled(work), ms, () => new Error('closing takes too long')).catch(() => {})
}
