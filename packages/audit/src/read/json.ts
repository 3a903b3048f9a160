/** Parses one line of JSON: our record (docs/audit.md), nginx with `escape=json`, Caddy or Traefik. */
import type { RequestLine } from '../record.ts'
import { readTimes } from './combined.ts'
import { NO_REQUEST, odd, type ReadLine, requestOf } from './line.ts'
import { pathOf, textOf } from './lines.ts'

type Json = Record<string, unknown>

/** @param bytes  one character per byte */
export function readJson(bytes: string, defaultOrigin: string | undefined): ReadLine {
  let line: unknown
  const decoded = textOf(bytes)
  try {
    line = JSON.parse(decoded)
  } catch (error) {
    return odd('unreadable', `not JSON: ${(error as Error).message.slice(0, 100)}`)
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return odd('unreadable', 'not a JSON object')
  const json = line as Json
  // A line that is not valid UTF-8 was read as Latin-1: its characters are bytes.
  const isBytes = decoded === bytes && /[\x80-\xff]/.test(bytes)
  const path = (value: string): string => (isBytes ? pathOf(value) : value)
  if (json.kind === 'robots') return robotsLine(json)
  if (json.kind === 'request') return ourLine(json, path)
  if (json.kind !== undefined) return odd('unreadable', `kind ${JSON.stringify(json.kind)} is none of request, robots`)
  if (typeof json.request === 'object' && json.request !== null) return caddyLine(json, json.request as Json)
  if ('DownstreamStatus' in json) return traefikLine(json, defaultOrigin)
  if ('msec' in json) return nginxLine(json, defaultOrigin, path)
  return odd('unreadable', 'JSON of no known format (docs/audit.md)')
}

function robotsLine({ hash, body, base64 }: Json): ReadLine {
  if (typeof hash !== 'string' || hash === '') return odd('bad-request', 'robots: hash is missing')
  if (typeof body === 'string') return { kind: 'robots', line: { kind: 'robots', hash, body } }
  if (typeof base64 === 'string') return { kind: 'robots', line: { kind: 'robots', hash, base64 } }
  return odd('bad-request', "robots: 'body' or 'base64' is needed")
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value !== '-' ? value : undefined
const number = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : undefined

function ourLine(json: Json, path: (value: string) => string): ReadLine {
  if (json.method === '' && json.path === '') return NO_REQUEST // nginx: bytes that were no request
  if (typeof json.origin !== 'string' || !json.origin.includes('://'))
    return odd('no-origin', 'request: origin is not scheme://host[:port]')
  if (typeof json.path !== 'string' || !json.path.startsWith('/'))
    return odd('bad-request', "request: path does not begin with '/'")
  if (typeof json.status !== 'number' || !Number.isInteger(json.status) || json.status < 0 || json.status > 999)
    return odd('bad-request', 'request: status is not a whole number')
  const times = timesOf(json)
  if (!times) return odd('no-times', 'request: neither start and end (ms) nor msec and request_time (s) are usable')
  if (times.end < times.start) return odd('bad-request', 'request: it ends before it starts')
  const read = requestOf({
    origin: json.origin,
    agent: text(json.agent) ?? '',
    method: text(json.method) ?? 'GET',
    target: path(json.path),
    ...times,
    status: json.status,
    retryAfter: text(json.retryAfter),
    location: text(json.location),
    format: 'msec' in json ? 'nginx, JSON' : 'record',
  })
  if (read.kind === 'request') addOwn(read.line, json)
  return read
}

function addOwn(line: RequestLine, { cut, late, address, robots, resolution }: Json): void {
  if (cut === true) line.cut = true
  if (line.cut && typeof late === 'number' && late >= 0) line.late = late
  const [at, hash] = [text(address), text(robots)]
  if (at !== undefined) line.address = at
  if (hash !== undefined) line.robots = hash
  if (typeof resolution === 'number' && resolution > 0) line.resolution = resolution
}

function timesOf({ start, end, msec, request_time }: Json): { start: number; end: number } | undefined {
  if (typeof start === 'number' && typeof end === 'number')
    return Number.isFinite(start) && Number.isFinite(end) ? { start, end } : undefined
  // nginx's variables have three decimals; JSON has dropped trailing zeros.
  const [at, took] = [number(msec), number(request_time)]
  if (at === undefined || took === undefined || !Number.isFinite(at + took)) return undefined
  return readTimes(at.toFixed(3), took.toFixed(3))
}

/** nginx with the names of its variables as keys. */
function nginxLine(json: Json, defaultOrigin: string | undefined, path: (value: string) => string): ReadLine {
  const matched = /^([^ ]+) (\S+) HTTP\//.exec(text(json.request) ?? '')
  const method = text(json.request_method) ?? matched?.[1] ?? ''
  const target = text(json.request_uri) ?? matched?.[2] ?? text(json.uri) ?? ''
  if (method === '' || target === '') return NO_REQUEST
  const times = timesOf(json)
  if (!times) return odd('no-times', "neither 'msec' nor 'request_time' as nginx writes them")
  const host = text(json.http_host) ?? text(json.host)
  const scheme = text(json.scheme)
  return requestOf({
    origin: host === undefined || scheme === undefined ? defaultOrigin : `${scheme}://${host}`,
    agent: text(json.http_user_agent) ?? '',
    method,
    target: path(target),
    ...times,
    status: number(json.status) ?? Number.NaN,
    retryAfter: text(json.sent_http_retry_after),
    location: text(json.sent_http_location),
    format: 'nginx, JSON',
  })
}

const firstOf = (headers: unknown, name: string): string | undefined => {
  const value = (headers as Json | undefined)?.[name]
  return text(Array.isArray(value) ? value[0] : value)
}

/** Caddy: `ts` is the end, in seconds or as a date; `duration` is in seconds, its texts ("1.5ms", by `duration_format`) are not read. */
function caddyLine(json: Json, request: Json): ReadLine {
  const { ts, duration, status } = json
  const end = typeof ts === 'number' ? ts * 1_000 : Date.parse(String(ts))
  const took = typeof duration === 'number' ? duration * 1_000 : Number.NaN
  const host = text(request.host)
  const scheme = typeof request.tls === 'object' && request.tls !== null ? 'https' : 'http'
  const given = number(status) ?? Number.NaN
  if (!Number.isFinite(end) || !Number.isFinite(took)) return odd('no-times', "neither 'ts' nor 'duration' as numbers")
  return requestOf({
    origin: host === undefined ? undefined : `${scheme}://${host}`,
    agent: firstOf(request.headers, 'User-Agent') ?? '',
    method: text(request.method) ?? '',
    target: text(request.uri) ?? '',
    start: end - took,
    end,
    status: given,
    retryAfter: firstOf(json.resp_headers, 'Retry-After'),
    location: firstOf(json.resp_headers, 'Location'),
    format: 'Caddy, JSON',
  })
}

const NS = 1e6

/** Traefik: headers are in the log if `fields.headers` keeps them. */
function traefikLine(json: Json, defaultOrigin: string | undefined): ReadLine {
  const started = instantIn(text(json.StartUTC) ?? text(json.StartLocal))
  const took = number(json.Duration)
  if (started === undefined || took === undefined) return odd('no-times', "neither 'StartUTC' nor 'Duration' is usable")
  const host = text(json.RequestAddr) ?? text(json.RequestHost)
  const scheme = text(json.RequestScheme) ?? (text(json.TLSVersion) === undefined ? 'http' : 'https')
  return requestOf({
    origin: host === undefined ? defaultOrigin : `${scheme}://${host}`,
    agent: text(json['request_User-Agent']) ?? '',
    method: text(json.RequestMethod) ?? '',
    target: text(json.RequestPath) ?? '',
    start: started,
    end: started + took / NS,
    status: number(json.DownstreamStatus) ?? Number.NaN,
    retryAfter: text(json['downstream_Retry-After']),
    location: text(json.downstream_Location),
    format: 'Traefik, JSON',
  })
}

/** RFC 3339 as ms since 1970, with all fractional digits of the second (up to nine); `Date.parse` would keep three. */
function instantIn(written: string | undefined): number | undefined {
  const parts = /^(.*:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/.exec(written ?? '')
  if (parts === null) return undefined
  const whole = Date.parse(`${parts[1]}${parts[3]}`)
  return Number.isNaN(whole) ? undefined : whole + Number(parts[2] ?? 0) * 1_000
}
