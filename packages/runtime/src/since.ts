/**
 * How long ago something was, for a process that may have been suspended since. Two clocks are read, because a suspended
 * machine stops the monotonic one; the longer of both durations counts.
 */
import type { Clock } from '@decorum/protocol/time'

export type Since = { monotonic: number; wall: number }

export const sinceNow = (clock: Clock): Since => ({ monotonic: clock.monotonic(), wall: clock.machine() })

/** ms */
export const passed = (clock: Clock, { monotonic, wall }: Since): number =>
  Math.max(clock.monotonic() - monotonic, clock.machine() - wall)
