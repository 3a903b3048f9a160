/**
 * One robots.txt: the request with its redirects, each hop guarded, all under one deadline; what came back as an event
 * for the origin's state. The rules bind the origin that was asked first, wherever they were found (RFC 9309 §2.3.1.2).
 * Where a hop may go: docs/robots.md.
 */
import { hash } from 'node:crypto'
import type { Agent } from '@decorum/config'
import { namesRobotsTxt } from '@decorum/protocol'
import {
  parseRetryAfter,
  ROBOTS_MAX_BYTES,
  type RobotsEvent,
  type RobotsState,
  type UnansweredReason,
} from '@decorum/robots'
import type { LaneConnections, Way } from '../http/connections.ts'
import { codingOf, decode } from '../http/decode.ts'
import { type Answer, type Exchange, exchange } from '../http/exchange.ts'
import { type Failure, failureOf, isRedirect, moodOf, single } from '../http/read-answer.ts'
import { type Target, targetOf } from '../http/redirect.ts'
import { headersOf } from '../http/request-head.ts'
import { ROBOTS_MAX_REDIRECTS, ROBOTS_WIRE_MAX_BYTES } from '../limits.ts'
import type { Confirm, Lease } from '../orders/lease.ts'
import type { Astray, Hop, HopLane } from '../orders/pace.ts'
import { freshForMs } from './freshness.ts'
import type { ForbidsHop } from './hop-rules.ts'

export type RobotsAnswer = {
  /** undefined: nothing left this machine, or nothing may be said of the site by it */
  event?: RobotsEvent
  /** the decoded octets of a good answer, at most 500 KiB */
  octets?: Uint8Array
  /** why there is no event */
  notSent?: string
  /** the agent has no contact and the address is not opened */
  noContact?: boolean
  endedAt: number
  /** the slowest exchange with the origin that was asked first, ms; absent when nothing was sent there */
  tookMs?: number
  what: string
  detail: string
  bytes: number
  /** the exchanges that were answered, in order, for the archive; their bodies want discarding */
  hops: { url: string; answer: Answer; headers: string[] }[]
}

export type HopTools = {
  connections: LaneConnections
  /** `AcquireHop`, under the fence of the order */
  acquireHop: (hop: Omit<Hop, 'fence'>) => Promise<HopLane | 'late' | 'blocked'>
  /** a hop that was the robots fetch of another origin has ended */
  endRobotsFetch: (origin: string, fence: number) => Promise<void>
  forbidsHop: ForbidsHop
  /** of the origin that is asked */
  astray: Astray
}
type Tools = HopTools & {
  now: () => number
  jitter: () => number
}

/**
 * @param state  what is known of the origin. A copy in it is at hand with its body: its validators make the request conditional
 * @param path   '/robots.txt'
 */
export async function fetchRobots(
  origin: string,
  path: string,
  agent: Agent,
  state: RobotsState,
  lease: Lease,
  tools: Tools,
): Promise<RobotsAnswer> {
  const start = performance.now()
  const deadlineMs = lease.deadlineMs()
  const hops: RobotsAnswer['hops'] = []
  const seen = new Set<string>()
  let tookMs: number | undefined
  const took = () => (tookMs === undefined ? {} : { tookMs })
  let at = { origin, path }
  for (;;) {
    const url = at.origin + at.path
    const base = { bytes: hops.at(-1)?.answer.body.bytes ?? 0, hops }
    const stop = (reason: UnansweredReason, detail: string, endedAt: number): RobotsAnswer => {
      const event: RobotsEvent = { kind: 'unanswered', reason, jitter: tools.jitter() }
      return { ...base, ...took(), endedAt, what: reason, detail, event }
    }
    if (seen.has(url)) return stop('redirect-loop', `back at ${url}`, performance.now())
    seen.add(url)
    const first = hops.length === 0
    const headers = first ? conditional(agent, state) : headersOf(agent)
    const left = (): number => Math.min(deadlineMs - (performance.now() - start), lease.deadlineMs())
    const held = () => (first ? lease.lastCheck() : lease.stillHeld())
    const visit = at.origin === origin ? visitOwn : visitOther
    let result: Exchange
    if (first) {
      result = await visit(agent, at, headers, left(), held, tools, tools.astray, () => lease.confirm())
      if (result.kind !== 'not-sent') tookMs = result.timing.totalMs
    } else {
      const isRobots = namesRobotsTxt(at.path)
      const hop = await tools.acquireHop({ origin: at.origin, isRobots, deadlineMs: left(), tookMs })
      if (hop === 'late') return stop('timeout', `the lane of ${at.origin} did not open in time`, performance.now())
      if (hop === 'blocked') return stop('blocked-hop', `${at.origin} is blocked by an operator`, performance.now())
      const forbidden = await tools.forbidsHop(at.origin, at.path)
      if (forbidden !== undefined) {
        await hop.release()
        if (isRobots && at.origin !== origin) await tools.endRobotsFetch(at.origin, hop.fence)
        return stop('blocked-hop', forbidden, performance.now())
      }
      result = await visit(agent, at, headers, left(), held, tools, hop.astray, hop.confirm)
      if (hop.shared && result.kind !== 'not-sent') tookMs = Math.max(tookMs ?? 0, result.timing.totalMs)
      await hop.leave(result, result.kind === 'answered' ? moodOf(result, tools.now()) : undefined)
      if (isRobots && at.origin !== origin) await tools.endRobotsFetch(at.origin, hop.fence)
    }
    if (result.kind === 'not-sent') {
      if (!first) return stop('timeout', result.why, result.endedAt)
      return { ...base, endedAt: result.endedAt, what: 'not-sent', detail: result.why, notSent: result.why }
    }
    if (result.kind === 'unanswered') {
      const failure = failureOf(result.error, result.phase)
      if (at.origin !== origin) return stop(ofHop(failure), result.error.message, result.endedAt)
      if (failure !== 'no-contact') return stop(failure, result.error.message, result.endedAt)
      return { ...base, endedAt: result.endedAt, what: failure, detail: result.error.message, noContact: true } // nothing was sent
    }
    hops.push({ url, answer: result, headers })
    const target: Target = isRedirect(result.status) ? targetOf(result.headers, url) : { kind: 'none' }
    if (target.kind === 'none') return { ...(await read(result, state, tools, hops)), ...took() }
    if (target.kind === 'unusable') {
      const blocked = target.refused === 'scheme-not-supported' || target.refused === 'ftp-not-supported'
      return stop(blocked ? 'blocked-scheme' : 'protocol', target.why, result.endedAt)
    }
    if (hops.length > ROBOTS_MAX_REDIRECTS)
      return stop('too-many-redirects', `more than ${ROBOTS_MAX_REDIRECTS} redirects`, result.endedAt)
    at = target.at
  }
}

/**
 * The failure of a hop into another origin, told of the one that was asked first. A guarded address or a missing name
 * there says nothing of the address here, and must not end the URLs of this origin: it is a redirect into nowhere (docs/spec/robots.md §1).
 */
function ofHop(failure: Failure): UnansweredReason {
  if (failure === 'nxdomain') return 'dns'
  return failure === 'blocked-address' || failure === 'blocked-port' ? 'blocked-hop' : failure
}

type Visit = (
  agent: Agent,
  at: { origin: string; path: string },
  headers: string[],
  deadlineMs: number,
  held: () => string | undefined,
  tools: Tools,
  astray: Astray,
  confirm: Confirm,
) => Promise<Exchange>

const LIMITS = { maxBytes: ROBOTS_WIRE_MAX_BYTES, keepBody: () => true }

const visitOwn: Visit = (agent, at, headers, deadlineMs, held, { connections }, astray, confirm) => {
  const way = connections.lane(agent, at.origin)
  const lastCheck = () => held() ?? astray(way.connection()?.address)
  return exchange({ ...at, ...LIMITS, headers, deadlineMs, lastCheck, confirm, way })
}

const visitOther: Visit = async (agent, at, headers, deadlineMs, held, { connections }, astray, confirm) => {
  const way: Way & { close(): void } = connections.once(agent, at.origin)
  const lastCheck = () => held() ?? astray(way.connection()?.address)
  try {
    return await exchange({ ...at, ...LIMITS, headers, deadlineMs, lastCheck, confirm, way })
  } finally {
    way.close()
  }
}

const isConditional = ({ copy }: RobotsState): boolean => copy?.etag !== undefined || copy?.lastModified !== undefined

/** Asks only for what has changed; a 304 to our own validator renews the copy. */
function conditional(agent: Agent, { copy }: RobotsState): string[] {
  const headers = [...headersOf(agent)]
  if (copy?.etag !== undefined) headers.push('if-none-match', copy.etag)
  if (copy?.lastModified !== undefined) headers.push('if-modified-since', copy.lastModified)
  return headers
}

/** The last answer of the chain. Only a complete, decodable body counts: half a file could hide the rule that forbids. */
async function read(
  answer: Answer,
  state: RobotsState,
  { now, jitter }: Tools,
  hops: RobotsAnswer['hops'],
): Promise<RobotsAnswer> {
  const { status, headers, truncated, body, endedAt } = answer
  const retryAfterMs = parseRetryAfter(single(headers, 'retry-after') ?? undefined, now())
  const retry = retryAfterMs === undefined ? {} : { retryAfterMs }
  const done = { endedAt, bytes: body.bytes, hops }
  const unanswered = (reason: UnansweredReason, detail: string): RobotsAnswer => {
    return { ...done, what: reason, detail, event: { kind: 'unanswered', reason, ...retry, jitter: jitter() } }
  }
  const fresh = freshForMs(headers)
  // A validator belongs to the URL that sent it. The next request goes to the first URL of the chain again, where the
  // ETag or the date of another one could confirm what that URL never said.
  const isFirst = hops.length === 1
  const etag = isFirst ? validator(headers, 'etag') : undefined
  const lastModified = isFirst ? validator(headers, 'last-modified') : undefined
  const event: Extract<RobotsEvent, { kind: 'answered' }> = {
    kind: 'answered',
    status,
    jitter: jitter(),
    ...retry,
    ...(fresh === undefined ? {} : { freshForMs: fresh }),
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  }
  const said = { ...done, what: `status-${Math.floor(status / 100)}xx`, detail: `status ${status}` }
  if (status < 200 || status > 299) {
    // A 304 confirms our copy only as the answer to the one conditional request, which is the first of the chain.
    return status === 304 && !(isFirst && isConditional(state))
      ? unanswered('protocol', 'a 304 to an unconditional request')
      : { ...said, event }
  }
  if (truncated === 'time') return unanswered('timeout', 'the body was not complete in time')
  if (truncated === 'disconnect') return unanswered('reset', 'the body broke off')
  try {
    const coding = codingOf(single(headers, 'content-encoding'))
    const decoded = await decode(body.read(), coding, READ_BYTES, truncated === false)
    const octets = decoded.cut === 'ratio' || truncated === 'length' ? wholeLines(decoded.octets) : decoded.octets
    return { ...said, octets, event: { ...event, hash: hash('sha256', octets, 'hex').slice(0, 32) } }
  } catch (error) {
    return unanswered('decoding', (error as Error).message)
  }
}

/** One octet beyond what counts: by it the parser knows that the line at the limit was cut, and drops it. */
const READ_BYTES = ROBOTS_MAX_BYTES + 1

/** A text that was cut before the limit of the rules: half a line at its end could say the opposite, so it goes. */
function wholeLines(octets: Buffer): Buffer {
  if (octets.length >= READ_BYTES) return octets // the parser sees to it
  return octets.subarray(0, Math.max(octets.lastIndexOf(0x0a), octets.lastIndexOf(0x0d)) + 1)
}

/** A validator is sent back as it came, so it must be something that can be sent. */
function validator(headers: readonly [string, string][], name: string): string | undefined {
  const value = single(headers, name)
  return value != null && value.length > 0 && value.length <= 256 && /^[\x20-\x7e]+$/.test(value) ? value : undefined
}
