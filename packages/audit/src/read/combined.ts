/**
 * Parses one line of a log in the combined format of nginx or Apache, unchanged, or with times and the origin appended (docs/audit.md has
 * the directives), or as Traefik extends it.
 */

import { urlOf } from '../origin.ts'
import { NO_REQUEST, odd, type ReadLine, requestOf, WHOLE_SECONDS } from './line.ts'
import { pathOf, textOf } from './lines.ts'

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"'
/** Anchored, and every part ends at a character that it cannot contain, so matching takes linear time. */
const LINE = new RegExp(
  `^(?:([A-Za-z0-9.-]+:\\d{1,5}) )?\\S+ \\S+ \\S+ \\[([^\\]]*)\\] ${QUOTED} (\\d{3}) \\S+ ${QUOTED} ${QUOTED}(.*)$`,
)
const TIMED = new RegExp(`^ (\\S+) (\\S+)(?: ([^\\s"]\\S*))?(?: ${QUOTED})?(?: ${QUOTED})?$`)
const TRAEFIK = new RegExp(`^ \\d+ ${QUOTED} ${QUOTED} (\\d+)ms$`)
const REQUEST = /^([^ ]+) (\S+) HTTP\/\d(?:\.\d)?$/
const DATE = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

export type Shape = { fields: number; endsQuoted: boolean }

/** @param defaultOrigin  the origin of lines that do not contain one */
export function readCombined(text: string, defaultOrigin: string | undefined): ReadLine & { shape?: Shape } {
  const parts = LINE.exec(text)
  if (!parts) return odd('unreadable', 'none of the known formats (docs/audit.md)')
  const [, virtualHost, date = '', request = '', status = '', , agent = '', tail = ''] = parts
  const timed = timesIn(tail, date)
  if (timed === undefined)
    return odd('no-times', `no times as '$msec $request_time' (nginx) or '%{usec}t %D' (Apache) at its end: '${tail}'`)
  const { origin, retryAfter, location, shape, ...times } = timed
  const matched = REQUEST.exec(request)
  if (!matched?.[1] || !matched[2]) return { ...NO_REQUEST, shape }
  const read = requestOf({
    ...times,
    origin: originIn(origin, virtualHost, defaultOrigin),
    agent: agent === '-' ? '' : textOf(unescaped(agent)),
    method: matched[1],
    target: pathOf(unescaped(matched[2])),
    status: Number(status),
    retryAfter: retryAfter === '-' ? undefined : retryAfter && unescaped(retryAfter),
    location: location === '-' ? undefined : location && pathOf(unescaped(location)),
  })
  return { ...read, shape }
}

type Times = {
  start: number
  end: number
  resolution?: number
  format: string
  origin?: string | undefined
  retryAfter?: string | undefined
  location?: string | undefined
  shape: Shape
}

function timesIn(tail: string, date: string): Times | undefined {
  if (tail === '') {
    // The plain format has no duration, and does not say whether its second is that of the start or the end.
    const at = secondsIn(date)
    const shape = { fields: 0, endsQuoted: true }
    return at === undefined
      ? undefined
      : { start: at, end: at, resolution: WHOLE_SECONDS, format: 'combined, whole seconds', shape }
  }
  const traefik = TRAEFIK.exec(tail)
  if (traefik) {
    const start = secondsIn(date)
    if (start === undefined) return undefined
    const shape = { fields: 4, endsQuoted: true }
    return {
      start,
      end: start + Number(traefik[3]),
      resolution: WHOLE_SECONDS,
      format: 'Traefik, whole seconds',
      shape,
    }
  }
  const timed = TIMED.exec(tail)
  const times = timed === null ? undefined : readTimes(timed[1] ?? '', timed[2] ?? '')
  if (timed === null || times === undefined) return undefined
  const [, , , origin, retryAfter, location] = timed
  const fields = timed.filter((field) => field !== undefined).length
  const format = (timed[1] as string).includes('.') ? 'nginx' : 'Apache'
  const endsQuoted = retryAfter !== undefined || (origin === undefined && format === 'nginx')
  return { ...times, format, origin, retryAfter, location, shape: { fields, endsQuoted } }
}

/** Whole milliseconds from nginx, µs from Apache. Both round start and end down alike, so no delay of whole ms becomes shorter. */
export function readTimes(when: string, took: string): { start: number; end: number } | undefined {
  if (/^\d{9,11}\.\d{3}$/.test(when) && /^\d+\.\d{3}$/.test(took)) {
    const end = Math.round(Number(when) * 1_000)
    return { start: end - Math.round(Number(took) * 1_000), end }
  }
  if (/^\d{16}$/.test(when) && /^\d+$/.test(took))
    return { start: Number(when) / 1_000, end: (Number(when) + Number(took)) / 1_000 }
  return undefined
}

/** Apache leaves REQUEST_SCHEME unset for most requests: '-://host' has the scheme of `fallback`, else https on port 443, else http. */
function originIn(origin: string | undefined, virtualHost: string | undefined, fallback: string | undefined) {
  if (origin?.startsWith('-://')) {
    const scheme = fallback === undefined ? undefined : urlOf(fallback)?.protocol
    return `${scheme ?? (origin.endsWith(':443') ? 'https:' : 'http:')}${origin.slice(1)}`.replace('::', ':')
  }
  if (origin !== undefined && origin !== '-') return origin
  if (fallback !== undefined) return fallback
  if (virtualHost === undefined) return undefined
  return `${virtualHost.endsWith(':443') ? 'https' : 'http'}://${virtualHost}`
}

/** `20/Nov/2026:13:00:00 +0100` as ms since 1970 UTC. */
function secondsIn(date: string): number | undefined {
  const parts = DATE.exec(date)
  const month = parts === null ? -1 : MONTHS.indexOf(parts[2] as string)
  if (parts === null || month < 0) return undefined
  const [, day, , year, hours, minutes, seconds, sign, zoneHours, zoneMinutes] = parts
  const local = Date.UTC(Number(year), month, Number(day), Number(hours), Number(minutes), Number(seconds))
  const zone = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000
  return sign === '-' ? local + zone : local - zone
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', v: '\v', f: '\f' }

const unescaped = (text: string): string =>
  text.includes('\\')
    ? text.replaceAll(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, plain: string) =>
        hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[plain] ?? plain),
      )
    : text
