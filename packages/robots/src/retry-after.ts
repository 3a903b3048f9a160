/** Retry-After, read strictly: digits or IMF-fixdate, nothing else (RFC 9110 §10.2.3). */
import { MAX_RETRY_AFTER_MS } from './limits.ts'

/**
 * How long a site asks us to wait.
 * @param value  the header as received; surrounding blanks are dropped, as a header field's are
 * @param now    the receiver's clock in ms, against which a date is read
 * @returns      ms in (0, 24 h], or undefined: absent, unreadable, zero, past. Never NaN.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.replace(/^[ \t]+|[ \t]+$/g, '') ?? ''
  return within(/^[0-9]+$/.test(text) ? Number(text) * 1_000 : fixdate(text) - now)
}

/**
 * The instant of an IMF-fixdate, NaN for any other text. `Date.parse` takes a dozen forms that no server should send,
 * '120' for the year 120 among them, so it is only believed when printing its answer gives the very same text.
 */
function fixdate(text: string): number {
  const at = Date.parse(text)
  return new Date(at).toUTCString() === text ? at : Number.NaN
}

function within(ms: number): number | undefined {
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined
}
