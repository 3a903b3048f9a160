/** Every bound of this package, with its reason. */

/** The first 500 KiB of a file are read, the rest is ignored (RFC 9309 §2.5, Google's page). */
export const ROBOTS_MAX_BYTES = 512_000

/** The number of bytes of a line that are read: 8 × 2,083, less one, as google/robotstxt's buffer does. */
export const MAX_LINE_BYTES = 16_663

/** Rules per file; later ones are ignored and reported. The largest of 4,231 real files holds 31,843 in 1.4 MB, which is cut at 500 KiB before. */
export const MAX_RULES = 20_000

/** Warnings per file; one more gives the number of those left out. A hostile file has a warning on each of 250,000 lines. */
export const MAX_WARNINGS = 100

/** Records per file that are only reported (host, clean-param …). */
export const MAX_RECORDS = 1_000

/** Losing candidates that an explanation lists; their full number is always given. */
export const MAX_LOSERS = 50

/** The longest Retry-After is a day (docs/spec/design.md §7): more is a mistake or a trap, and a timer above 2^31 ms fires at once. */
export const MAX_RETRY_AFTER_MS = 86_400_000
