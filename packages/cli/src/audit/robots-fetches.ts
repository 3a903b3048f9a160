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
  const wanted = new Map<string, Visit[]>() // what redirects may lead to, by visitor + URL
  const targets = new Set<string>()
  for (const { line } of visits) if (REDIRECTS.has(line.status)) targets.add(locationOf(line) ?? '')
  for (const visit of visits) {
    const url = visit.line.origin + visit.line.path
    if (targets.has(url))
      wanted.set(keyOf(visit.visitor, url), [...(wanted.get(keyOf(visit.visitor, url)) ?? []), visit])
  }
  const fetches: RobotsFetch[] = []
  for (const visit of visits) {
    if (visit.line.path !== '/robots.txt' || visit.hop) continue
    const { line, visitor } = visit
    const fetch: RobotsFetch = { first: visit, start: line.start, end: line.end, answers: [], requests: [line] }
    let last = line
    while (REDIRECTS.has(last.status) && !last.cut && fetch.requests.length <= MOST_HOPS) {
      const next = nextHop(last, wanted.get(keyOf(visitor, locationOf(last) ?? '')))
      if (next === undefined) break
      next.hop = fetch
      last = next.line
      fetch.requests.push(last)
      fetch.end = Math.max(fetch.end, last.end)
    }
    fetch.answers = answersOf(last, fetch, evidence)
    fetches.push(fetch)
  }
  return fetches
}

const keyOf = (visitor: Visitor, url: string): string => `${visitor.name}\n${url}`

function locationOf(line: RequestLine): string | undefined {
  const url = line.location === undefined ? null : URL.parse(line.location, line.origin + line.path)
  return url === null ? undefined : url.origin + url.pathname + url.search
}

function nextHop(from: RequestLine, candidates: Visit[] = []): Visit | undefined {
  return candidates.find(
    ({ line, hop }) => !hop && line !== from && line.start >= from.end && line.start - from.end <= HOP_WITHIN_MS,
  )
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
