/** Retry-After, read strictly: digits or IMF-fixdate, nothing else (RFC 9110 §10.2.3). */
import { MAX_RETRY_AFTER_MS } from './limits.ts'

const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

/**
 * How long a site asks us to wait.
 * @param value  the header as received; surrounding blanks are dropped, as a header field's are
 * @param now    the receiver's clock in ms, against which a date is read
 * @returns      ms in (0, 24 h], or undefined: absent, unreadable, zero, past. Never NaN.
 * `Date.parse` is not asked: it takes '120' for the year 120, and a dozen forms that no server should send.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.replace(/^[ \t]+|[ \t]+$/g, '') ?? ''
  let ms: number
  if (/^[0-9]+$/.test(text)) ms = Number(text) * 1_000
  else {
    const date = IMF_FIXDATE.exec(text)
    if (!date) return undefined
    const [, day, month, year, hour, minute, second] = date as unknown as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    const at = Date.UTC(+year, MONTHS.indexOf(month) / 3, +day, +hour, +minute, +second)
    // Date.UTC rolls 31 Feb over into March and reads the years 0–99 as 1900–1999: such a date was never meant.
    if (new Date(at).getUTCDate() !== +day || +hour > 23 || +minute > 59 || +second > 60 || +year < 1900)
      return undefined
    ms = at - now
  }
  return ms > 0 ? Math.min(ms, MAX_RETRY_AFTER_MS) : undefined
}
