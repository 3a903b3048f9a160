/** One line of NDJSON: our record (docs/audit.md), or the same written by nginx with `escape=json`. */
import { readTimes } from './read-access-log.ts'
import type { RequestLine, RobotsLine } from './record.ts'

/** @returns the line, or why it cannot be read */
export function readRecordLine(text: string): RequestLine | RobotsLine | { why: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { why: `not JSON: ${(error as Error).message}` }
  }
  if (typeof value !== 'object' || value === null) return { why: 'not a JSON object' }
  const line = value as Record<string, unknown>
  if (line.kind === 'robots') return robotsLine(line)
  if (line.kind === 'request') return requestLine(line)
  return { why: `kind '${String(line.kind)}' is none of request, robots` }
}

function robotsLine({ hash, body, base64 }: Record<string, unknown>): RobotsLine | { why: string } {
  if (typeof hash !== 'string' || hash === '') return { why: 'robots: hash is missing' }
  if (typeof body === 'string') return { kind: 'robots', hash, body }
  if (typeof base64 === 'string') return { kind: 'robots', hash, base64 }
  return { why: 'robots: neither body nor base64' }
}

function requestLine(line: Record<string, unknown>): RequestLine | { why: string } {
  const { origin, path, status } = line
  if (typeof origin !== 'string' || !origin.includes('://'))
    return { why: 'request: origin is not scheme://host[:port]' }
  if (typeof path !== 'string' || !path.startsWith('/')) return { why: "request: path does not begin with '/'" }
  if (!isWhole(status) || status > 999) return { why: 'request: status is not a whole number' }
  const times = timesOf(line)
  if (!times) return { why: 'request: neither start and end (ms) nor msec and request_time (s) are usable' }
  if (times.end < times.start) return { why: 'request: it ends before it starts' }
  const answered = status === 499 || status === 444 ? 0 : status
  const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
  const [retryAfter, location] = [text(line.retryAfter), text(line.location)]
  const [address, robots] = [text(line.address), text(line.robots)]
  // One shape for every line: a million of them are held at once.
  const request: RequestLine = {
    kind: 'request',
    origin,
    agent: text(line.agent) ?? '',
    method: text(line.method) ?? 'GET',
    path,
    start: times.start,
    end: times.end,
    status: answered,
  }
  if (line.cut === true || status === 499) request.cut = true
  if (request.cut && typeof line.late === 'number' && line.late >= 0) request.late = line.late
  if (retryAfter !== undefined) request.retryAfter = retryAfter
  if (location !== undefined) request.location = location
  if (address !== undefined) request.address = address
  if (robots !== undefined) request.robots = robots
  return request
}

const isWhole = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0

function timesOf({
  start,
  end,
  msec,
  request_time,
}: Record<string, unknown>): { start: number; end: number } | undefined {
  if (typeof start === 'number' && typeof end === 'number')
    return Number.isFinite(start) && Number.isFinite(end) ? { start, end } : undefined
  // nginx's variables are numbers with three digits; JSON has dropped their trailing zeros.
  if (typeof msec === 'number' && typeof request_time === 'number')
    return readTimes(msec.toFixed(3), request_time.toFixed(3))
  return undefined
}
