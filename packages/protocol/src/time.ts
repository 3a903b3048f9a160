/** Instants and lengths. `…At` is an instant, `…Ms` a length; both are milliseconds. */

/** Milliseconds since 1970 UTC; fractions are microseconds of Redis's clock. */
export type Instant = number

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
