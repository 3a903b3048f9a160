/**
 * The robots.txt fetches in a record: each is a whole redirect chain, at one site or over several, told by the Location
 * of one line and the request that follows it elsewhere.
 */
import type { AnswerKind } from '@decorum/robots'
import { ROBOTS_MAX_BYTES } from '@decorum/robots'
import type { Evidence, RequestLine } from './record.ts'
import type { Visitor } from './visitors.ts'

/** A request with the visitor that made it. */
export type Visit = {
  line: RequestLine
  visitor: Visitor
  /** the redirected robots.txt fetch that it is a later part of */
  hop?: RobotsFetch
}

export type RobotsFetch = {
  /** the request it began with: its origin is the one whose rules these are */
  first: Visit
  start: number
  /** of the last hop */
  end: number
  /** what it came to; `unknown`: the record does not hold how it ended */
  answers: Answered[]
  requests: RequestLine[]
}

export type Answered =
  | { kind: AnswerKind; body?: string | Uint8Array; bodyKey?: string; retryAfter?: string }
  | { kind: 'renewed' }
  | { kind: 'unknown' }

/** RFC 9309 §2.3.1.2: at least five; this project's agents follow no more. */
const MOST_HOPS = 5
/** A hop that follows later than this belongs to somebody else. */
const HOP_WITHIN_MS = 60_000
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Finds all fetches, in order of start, and marks their later hops in `visits` (sorted by start). */
export function robotsFetches(visits: Visit[], evidence: Evidence): RobotsFetch[] {
  /** redirects that nobody has followed yet, by visitor + URL that they lead to */
  const leading = new Map<string, Visit[]>()
  const fetchOf = new Map<Visit, RobotsFetch>()
  const fetches: RobotsFetch[] = []
  for (const visit of visits) {
    const { line, visitor } = visit
    const from = followed(line, leading.get(keyOf(visitor, line.origin + line.path)))
    let fetch = from && fetchOf.get(from)
    if (fetch !== undefined) {
      visit.hop = fetch
      fetch.requests.push(line)
      fetch.end = Math.max(fetch.end, line.end)
    } else if (line.path === '/robots.txt') {
      fetch = { first: visit, start: line.start, end: line.end, answers: [], requests: [line] }
      fetches.push(fetch)
    } else continue
    fetchOf.set(visit, fetch)
    if (!REDIRECTS.has(line.status) || line.cut || fetch.requests.length > MOST_HOPS) continue
    const key = keyOf(visitor, locationOf(line) ?? '')
    leading.set(key, [...(leading.get(key) ?? []), visit])
  }
  for (const fetch of fetches) fetch.answers = answersOf(fetch.requests.at(-1) as RequestLine, fetch, evidence)
  return fetches
}

const keyOf = (visitor: Visitor, url: string): string => `${visitor.name}\n${url}`

function locationOf(line: RequestLine): string | undefined {
  const url = line.location === undefined ? null : URL.parse(line.location, line.origin + line.path)
  return url === null ? undefined : url.origin + url.pathname + url.search
}

/**
 * Whose hop a request is, taken out of those that led there: who waits longest; of several redirects by one URL the last,
 * for who asks again has given up before (a dead visitor follows nothing).
 */
function followed(line: RequestLine, redirects: Visit[] | undefined): Visit | undefined {
  if (redirects === undefined) return undefined
  const lastOf = new Map<string, Visit>()
  for (const visit of redirects) {
    const { end, origin, path } = visit.line
    if (end <= line.start && line.start - end <= HOP_WITHIN_MS) {
      const other = lastOf.get(origin + path)
      if (other === undefined || other.line.end <= end) lastOf.set(origin + path, visit)
    }
  }
  const [found] = [...lastOf.values()].sort((a, b) => a.line.end - b.line.end)
  if (found !== undefined) redirects.splice(redirects.indexOf(found), 1)
  return found
}

/** What a fetch may have come to in the visitor's eyes. Two answers when the record leaves it open. */
function answersOf(last: RequestLine, fetch: RobotsFetch, evidence: Evidence): Answered[] {
  if (REDIRECTS.has(last.status)) {
    if (fetch.requests.length > MOST_HOPS) return [{ kind: 'too-many-redirects' }]
    return [last.cut ? { kind: 'no-answer' } : { kind: 'unknown' }]
  }
  if (last.status === 304) return [{ kind: 'renewed' }] // the visitor's own validator: what it had still holds
  const kind = answerKind(last.status)
  if (kind === 'no-answer') return [{ kind }]
  const retry = last.retryAfter === undefined ? {} : { retryAfter: last.retryAfter }
  if (kind !== 'ok' && kind !== 'success' && kind !== 'partial') return [{ kind, ...retry }]
  const body =
    last.robots === undefined ? evidence.robotsByOrigin?.get(fetch.first.line.origin) : evidence.bodies.get(last.robots)
  if (body === undefined) return [{ kind: 'unknown' }]
  const answered: Answered = { kind, body, bodyKey: last.robots ?? fetch.first.line.origin }
  // Cut by the visitor: because it had read enough, or because it gave up.
  return last.cut && body.length <= ROBOTS_MAX_BYTES ? [answered, { kind: 'no-answer' }] : [answered]
}

/** The row of spec/robots.md §6 that a status stands in; 0 is no answer. */
export function answerKind(status: number): AnswerKind {
  if (status === 0) return 'no-answer'
  if (status === 200) return 'ok'
  if (status === 206) return 'partial'
  if (status >= 201 && status <= 299) return 'success'
  if (status === 401 || status === 403) return 'forbidden'
  if (status === 429) return 'too-many-requests'
  if (status >= 400 && status <= 499) return 'missing'
  if (status === 503) return 'busy'
  if (status >= 500 && status <= 599) return 'server-error'
  return 'other'
}
