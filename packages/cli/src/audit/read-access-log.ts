/**
 * One line of an nginx or Apache log in the combined format with times added at its end (docs/audit.md has the directives):
 * nginx `$msec $request_time`, Apache `%{usec}t %D`, then optionally the origin, "Retry-After" and "Location".
 */
import type { RequestLine } from './record.ts'

const QUOTED = '"((?:[^"\\\\]|\\\\.)*)"'
/** Anchored, and every part ends at a character that it cannot hold itself: linear on any line. */
const LINE = new RegExp(
  `^\\S+ \\S+ \\S+ \\[[^\\]]*\\] ${QUOTED} (\\d{3}) \\S+ ${QUOTED} ${QUOTED} (\\S+) (\\S+)(?: ([^\\s"]\\S*))?(?: ${QUOTED})?(?: ${QUOTED})?$`,
)
const REQUEST = /^([A-Z]+) (\S+) HTTP\/\d(?:\.\d)?$/
/** nginx: the visitor closed the connection · nginx: the server closed it without an answer */
const CLOSED_BY_CLIENT = '499'
const CLOSED_BY_SERVER = '444'

/** @returns the request, undefined when the line holds none (noise of port scanners), or why it cannot be read */
export function readAccessLine(
  text: string,
  defaultOrigin: string | undefined,
): RequestLine | undefined | { why: string } {
  const parts = LINE.exec(text)
  if (!parts)
    return { why: 'neither NDJSON of a record nor a combined log line with its times at the end (docs/audit.md)' }
  const [, request = '', status = '', , agent = '', when = '', took = '', origin, retryAfter, location] = parts
  const times = readTimes(when, took)
  if (!times)
    return { why: `no times as '$msec $request_time' (nginx) or '%{usec}t %D' (Apache) at its end: '${when} ${took}'` }
  const asked = REQUEST.exec(request)
  if (!asked?.[1] || !asked[2]) return undefined
  const target = targetOf(unescaped(asked[2]), origin === undefined || origin === '-' ? defaultOrigin : origin)
  if (!target) return { why: 'it names no origin; add $scheme://$http_host to the format, or give --origin' }
  return {
    kind: 'request',
    ...target,
    agent: agent === '-' ? '' : unescaped(agent),
    method: asked[1],
    ...times,
    status: status === CLOSED_BY_CLIENT || status === CLOSED_BY_SERVER ? 0 : Number(status),
    ...(status === CLOSED_BY_CLIENT ? { cut: true } : {}),
    ...(retryAfter && retryAfter !== '-' ? { retryAfter: unescaped(retryAfter) } : {}),
    ...(location && location !== '-' ? { location: unescaped(location) } : {}),
  }
}

/** Whole milliseconds from nginx (its own grid), µs from Apache. Both grids cut off alike at start and end: no gap shrinks. */
export function readTimes(when: string, took: string): { start: number; end: number } | undefined {
  if (/^\d{9,11}\.\d{3}$/.test(when) && /^\d+\.\d{3}$/.test(took)) {
    const end = Math.round(Number(when) * 1_000)
    return { start: end - Math.round(Number(took) * 1_000), end }
  }
  if (/^\d{16}$/.test(when) && /^\d+$/.test(took))
    return { start: Number(when) / 1_000, end: (Number(when) + Number(took)) / 1_000 }
  return undefined
}

function targetOf(target: string, origin: string | undefined): { origin: string; path: string } | undefined {
  const absolute = target.startsWith('/') ? null : URL.parse(target)
  if (absolute) return { origin: absolute.origin, path: absolute.pathname + absolute.search }
  const base = origin === undefined ? null : URL.parse(origin)
  return base && base.origin !== 'null' ? { origin: base.origin, path: target } : undefined
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, plain: string) =>
    hex ? String.fromCharCode(Number.parseInt(hex, 16)) : plain,
  )
