/**
 * Measures how long ago an instant was, for a process that may have been suspended since. It reads two clocks, because the monotonic one
 * stops while the machine is suspended; the longer duration counts.
 */
import type { Clock } from '@decorum/protocol/time'

export type Since = { monotonic: number; wall: number }

export const sinceNow = (clock: Clock): Since => ({ monotonic: clock.monotonic(), wall: clock.machine() })

/** Time since an instant, ms. */
export const passed = (clock: Clock, { monotonic, wall }: Since): number =>
  Math.max(clock.monotonic() - monotonic, clock.machine() - wall)
