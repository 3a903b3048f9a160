/**
 * How long ago something was, for a process that may have been suspended since. Two clocks are read, because a suspended
 * machine stops the monotonic one; the longer of both durations counts.
 */
export type Since = { monotonic: number; wall: number }

export const sinceNow = (): Since => ({ monotonic: performance.now(), wall: Date.now() })

/** ms */
export const passed = ({ monotonic, wall }: Since): number => Math.max(performance.now() - monotonic, Date.now() - wall)
