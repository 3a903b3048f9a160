/**
 * Parses Retry-After (RFC 9110 §10.2.3): a length, or a date in any of the three forms that a recipient must accept (§5.6.7), and other
 * spellings that servers use. With several values the longest counts.
 */
import { MAX_RETRY_AFTER_MS } from './limits.ts'

/** The wait that a site asks for: a length, ms in (0, 24 h], and a date as written, ms since 1970 UTC; the later of the two counts. */
export type RetryAfter = {
  retryAfterMs?: number
  retryAfterAt?: number
  /** the first part that cannot be parsed, as written: at most 64 characters */
  retryAfterUnread?: string
}

/** @param values  the header as received, one line or several. Absent, zero and negative values ask for no wait */
export function readRetryAfter(values: string | readonly string[] | undefined): RetryAfter {
  const read: RetryAfter = {}
  for (const line of typeof values === 'string' ? [values] : (values ?? []))
    for (const part of THOUSANDS.test(line) ? [line.replaceAll(',', '')] : line.split(',')) readPart(part, read)
  return read
}

/**
 * How long a site asks the client to wait.
 * @param now    the receiver's clock in ms, to which a date is compared
 * @returns      ms in (0, 24 h], or undefined: absent, unreadable, zero, past. Never NaN.
 */
export function parseRetryAfter(value: string | readonly string[] | undefined, now: number): number | undefined {
  const { retryAfterMs = 0, retryAfterAt = 0 } = readRetryAfter(value)
  const ms = Math.min(Math.max(retryAfterMs, retryAfterAt - now), MAX_RETRY_AFTER_MS)
  return ms > 0 ? ms : undefined
}

/** `3,600`: the format of PHP's number_format. A list of two lengths may look the same; then the wait is longer than it asks for. */
const THOUSANDS = /^[ \t]*\d{1,3}(,\d{3})+[ \t]*$/
/** No length or date is longer; longer text is not parsed, so that 16 KB of text take no time. */
const MOST_CHARS = 64

/**
 * Parses one member of the list, without a comment or a parameter behind it. A comma also follows the day of a date, which adds nothing to
 * the date.
 */
function readPart(part: string, read: RetryAfter): void {
  const written = part.trim()
  const end = written.search(/[;(]/)
  const text = (end < 0 ? written : written.slice(0, end).trim()).replace(/^(["'])(.*)\1$/, '$2')
  if (text === '' || DAY_NAME.test(text)) return
  const isLong = text.length > MOST_CHARS
  const ms = isLong ? undefined : lengthOf(text)
  const at = isLong || ms !== undefined ? undefined : dateOf(text)
  if (ms !== undefined && ms > 0) read.retryAfterMs = Math.max(read.retryAfterMs ?? 0, Math.min(ms, MAX_RETRY_AFTER_MS))
  else if (isLong && /^\d+$/.test(text)) read.retryAfterMs = MAX_RETRY_AFTER_MS
  else if (at !== undefined) read.retryAfterAt = Math.max(read.retryAfterAt ?? at, at)
  else if (ms === undefined) read.retryAfterUnread ??= text.slice(0, MOST_CHARS)
}

const DAY_NAME = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*$/i

const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, ms: 1 }

/** Parses seconds, with a fraction or a unit. */
function lengthOf(text: string): number | undefined {
  const [, number, unit = 's'] =
    /^([+-]?\d+(?:\.\d*)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)?\.?$/i.exec(
      text,
    ) ?? []
  if (number === undefined) return undefined
  const name = /^m(s|il)/i.test(unit) ? 'ms' : (unit[0] as string).toLowerCase()
  return Math.ceil(Number(number) * (UNIT_MS[name] as number))
}

const MONTHS = 'janfebmaraprmayjunjulaugsepoctnovdec'
/** Time zones of RFC 5322 §4.3, in hours. Any other name counts as UTC. */
const ZONES: Record<string, number> = { EST: -5, EDT: -4, CST: -6, CDT: -5, MST: -7, MDT: -6, PST: -8, PDT: -7 }

const DAY = '(?:[a-z]{3,9}\\.?,?\\s+)?'
const TIME = '(\\d{1,2}):(\\d{2})(?::(\\d{2})(?:\\.\\d+)?)?'
const ZONE = '(?:\\s*([a-z]{1,5})?\\s*([+-]\\d{2}):?(\\d{2})?|\\s*([a-z]{1,5}))?'
/** IMF-fixdate and RFC 850, whose day was split off at its comma. */
const FIXDATE = new RegExp(`^${DAY}(\\d{1,2})[\\s-]([a-z]{3})[a-z]*[\\s-](\\d{2}|\\d{4,6})\\s+${TIME}${ZONE}$`, 'i')
/** asctime, and the format of a Date in JavaScript. */
const ASCTIME = new RegExp(`^${DAY}([a-z]{3})[a-z]*\\s+(\\d{1,2})\\s+${TIME}\\s+(\\d{4})${ZONE}$`, 'i')
const PRINTED = new RegExp(`^${DAY}([a-z]{3})[a-z]*\\s+(\\d{1,2})\\s+(\\d{4})\\s+${TIME}${ZONE}$`, 'i')
/** RFC 3339. */
const ISO = new RegExp(`^(\\d{4})-(\\d{2})-(\\d{2})(?:T|\\s+)${TIME}${ZONE}$`, 'i')

/** @returns ms since 1970 UTC, undefined when it is no date. `Date.parse` is not used: it reads '120' as the year 120. */
function dateOf(text: string): number | undefined {
  let found = FIXDATE.exec(text)
  if (found !== null) return instant(found[3], monthOf(found[2]), found[1], found.slice(4))
  found = ISO.exec(text)
  if (found !== null) return instant(found[1], Number(found[2]) - 1, found[3], found.slice(4))
  found = PRINTED.exec(text)
  if (found !== null) return instant(found[3], monthOf(found[1]), found[2], found.slice(4))
  found = ASCTIME.exec(text)
  if (found === null) return undefined
  const [, month, day, hour, minute, second, year, ...zone] = found
  return instant(year, monthOf(month), day, [hour, minute, second, ...zone])
}

const monthOf = (name = ''): number => MONTHS.indexOf(name.toLowerCase()) / 3

/** @param rest  hour, minute, second; a zone in front of an offset, the offset's hours and minutes; a zone alone */
function instant(
  year = '',
  month: number,
  day = '',
  [hour, minute, second = '0', before, hours, minutes = '0', zone = before]: readonly (string | undefined)[],
): number | undefined {
  const full = year.length > 2 ? Number(year) : Number(year) + (Number(year) < 70 ? 2_000 : 1_900) // as RFC 6265 §5.1.1
  const parts = [full, month, Number(day), Number(hour), Number(minute), Number(second)] as const
  const [, , , h, m, s] = parts
  const isDate = Number.isInteger(month) && month >= 0 && month < 12 && Number(day) >= 1 && Number(day) <= 31
  if (!isDate || h > 24 || m > 59 || s > 60) return undefined
  const aheadMinutes =
    hours === undefined
      ? 60 * (ZONES[(zone ?? '').toUpperCase()] ?? 0)
      : 60 * Number(hours) + Math.sign(Number(`${hours[0]}1`)) * Number(minutes)
  return Date.UTC(...parts) - aheadMinutes * 60_000
}
