/** Instants and lengths. `…At` is an instant, `…Ms` a length; both are milliseconds. */

/** Milliseconds since 1970 UTC; fractions are microseconds of Redis's clock. */
export type Instant = number

/** The last instant that is understood: the last one that a Date can hold, in the year 275760. */
export const LAST_INSTANT: Instant = 8_640_000_000_000_000

/** Means "until an operator ends it": the year 2100. Pauses, blocks and delays by hand without an end have it. */
export const FOREVER: Instant = 4_102_444_800_000
export const isForever = (until: Instant): boolean => until >= FOREVER

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
