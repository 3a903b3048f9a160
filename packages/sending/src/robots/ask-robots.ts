/**
 * The requests of one robots fetch: the robots.txt and its redirects, each guarded and in its own lane, all under one deadline. The rules
 * bind the origin of the first request, wherever they were found (RFC 9309 §2.3.1.2). Allowed targets of hops: docs/robots.md.
 */
import type { Agent } from '@decorum/config'
import type { SiteLoad } from '@decorum/ledger'
import { delayByRules } from '@decorum/politeness'
import { isRedirect, linesOf, namesRobotsTxt, type Target, targetOf } from '@decorum/protocol'
import {
  parseRobots,
  policies,
  type RetryAfter,
  type RobotsEvent,
  type RobotsState,
  readRetryAfter,
  type UnansweredReason,
} from '@decorum/robots'
import { defined } from '@decorum/runtime'
import type { Answer, Exchange } from '../http/answer.ts'
import type { LaneConnections } from '../http/connections.ts'
import { type ExchangeRequest, exchange, type LastCheck } from '../http/exchange.ts'
import { failureOf } from '../http/read-answer.ts'
import { headersOf } from '../http/request-head.ts'
import type { UsedLease } from '../leases/lease.ts'
import { ROBOTS_MAX_REDIRECTS, ROBOTS_WIRE_MAX_BYTES } from '../limits.ts'
import { bothLoads, loadOf, NORMAL_LOAD, waitOf } from '../load.ts'
import type { Failure } from '../read-page.ts'
import type { AcquireHop, HopLane } from './hop-lane.ts'
import type { ForbidsHop } from './hop-rules.ts'
import { type ReadTools, type RobotsReading, readRobots } from './read-robots.ts'

export type RobotsAnswer = Omit<RobotsReading, 'event' | 'bytes'> & {
  /** undefined: nothing left this machine, or the answer says nothing about the site */
  event?: RobotsEvent
  /** the decoded rules of a good answer */
  rules?: Uint8Array
  /** why there is no event: nothing was sent, or the agent has no contact and the address is not opened */
  unsent?: 'not-sent' | 'no-contact'
  endedAt: number
  /** load of the first request's origin or host, by all their answers */
  load: SiteLoad
  /** the slowest exchange with the first request's origin, ms; absent when nothing was sent there */
  tookMs?: number
  /** bytes of the last body */
  bodyBytes: number
  /** the exchanges that were answered, in order, for the sink; the caller discards their bodies */
  hops: { url: string; answer: Answer; headers: string[] }[]
}

export type RequestTools = ReadTools & {
  /** `wall`: Redis's clock; `now`: the ledger's time; both in ms */
  wall: () => number
  now: () => number
  connections: LaneConnections
  acquireHop: AcquireHop
  forbidsHop: ForbidsHop
}

/**
 * @param state  known state of the origin; the body of its copy, if any, is available, so its validators may be sent
 * @param path   '/robots.txt'
 */
export async function requestRobots(
  origin: string,
  path: string,
  agent: Agent,
  state: RobotsState,
  lease: UsedLease,
  tools: RequestTools,
): Promise<RobotsAnswer> {
  const { clock } = tools
  const start = clock.monotonic()
  const deadlineMs = lease.deadlineMs()
  const hops: RobotsAnswer['hops'] = []
  const seen = new Set<string>()
  let tookMs: number | undefined
  let load: SiteLoad = NORMAL_LOAD
  let lastRead: RobotsReading | undefined
  // The latest hop to each origin whose own robots.txt was requested on the way. The rules at the end of the chain bind the first origin,
  // but they are also these origins' robots.txt, and may demand a longer delay of their lanes than is known.
  const laneAt = new Map<string, HopLane>()
  // Whether the wait that a redirect requested at the last fetch is over. Then it is followed at once, or no fetch would ever follow it.
  const hasWaited = state.notBefore !== undefined && state.notBefore <= tools.now()
  let at = { origin, path }
  const left = (): number => Math.min(deadlineMs - (clock.monotonic() - start), lease.deadlineMs())
  const ended = (endedAt: number) => ({
    endedAt,
    load,
    hops,
    bodyBytes: hops.at(-1)?.answer.body.bytes ?? 0,
    ...defined({ tookMs }),
  })
  const stop = (
    reason: UnansweredReason,
    detail: string,
    endedAt = clock.monotonic(),
    { retryAfterMs, retryAfterAt }: RetryAfter = {},
  ): RobotsAnswer => ({
    ...ended(endedAt),
    what: reason,
    detail,
    event: { kind: 'unanswered', reason, jitter: clock.random(), ...defined({ retryAfterMs, retryAfterAt }) },
  })

  const loadAfter = (result: Exchange): SiteLoad =>
    result.kind === 'answered' && leadsTo(result, at).kind === 'none'
      ? loadOf(result.status, linesOf(result.headers, 'retry-after'))
      : NORMAL_LOAD
  /** The delay from now on that an answer requests for the next request, ms. */
  const isFor = ({ retryAfterMs = 0, retryAfterAt = 0 }: RetryAfter): number =>
    Math.max(retryAfterMs, retryAfterAt - tools.wall())
  /**
   * Adds an answer to the load of the robots fetch's own lanes: the longest Retry-After counts. Without one, the retries of the origin's
   * robots state apply, which come sooner than a back-off of pages ends.
   */
  const keepLoad = (answerLoad: SiteLoad): void => {
    const wait = waitOf(answerLoad)
    if (isFor(wait) > 0) load = bothLoads(load, answerLoad)
    else if (wait.retryAfterUnread !== undefined) load = bothLoads(load, { ...wait, kind: 'asked-to-wait' })
  }
  /** The first request, under the lease of the order itself. */
  const first = async (headers: string[]): Promise<Exchange> => {
    const result = await request(agent, at, tools.connections, origin, {
      headers,
      deadlineMs: left(),
      lastCheck: (address) => lease.lastCheck(address),
      confirm: () => lease.confirm(),
    })
    if (result.kind !== 'not-sent') tookMs = result.timing.totalMs
    keepLoad(loadAfter(result))
    return result
  }
  /** Requests the target of a redirect, under its own lease. @returns a RobotsAnswer when the chain ends without that request */
  const hop = async (headers: string[]): Promise<Exchange | RobotsAnswer> => {
    const isRobots = namesRobotsTxt(at.path)
    const lane = await tools.acquireHop({ origin: at.origin, isRobots, deadlineMs: left(), tookMs })
    if (lane === 'late') return stop('timeout', `the lane of ${at.origin} was not due in time`)
    if (lane === 'blocked') return stop('blocked-hop', `${at.origin} is blocked by an operator`)
    const forbidden = await tools.forbidsHop(at.origin, at.path)
    if (forbidden !== undefined) {
      await lane.release()
      return stop('blocked-hop', forbidden)
    }
    const lastCheck: LastCheck = (address) => lease.stillHeld() ?? lane.lastCheck(address)
    const { confirm } = lane
    const result = await request(agent, at, tools.connections, origin, {
      headers,
      deadlineMs: left(),
      lastCheck,
      confirm,
    })
    if (lane.isShared && result.kind !== 'not-sent') tookMs = Math.max(tookMs ?? 0, result.timing.totalMs)
    const hopLoad = loadAfter(result)
    if (lane.isShared) keepLoad(hopLoad)
    if (isRobots || laneAt.has(at.origin)) laneAt.set(at.origin, lane)
    if (result.kind === 'answered' && leadsTo(result, at).kind === 'none') {
      lastRead = await readRobots(result, { isFirst: false, isConditional: isConditional(state) }, tools)
      for (const one of laneAt.values()) one.owe(delayIn(lastRead.bytes))
    }
    await lane.complete(result, hopLoad)
    return result
  }
  const delayIn = (body: Uint8Array | undefined): number => {
    const rules = body && parseRobots(body, { policy: policies[agent.profile] })
    return delayByRules(agent, rules).delayMs
  }

  for (;;) {
    const url = at.origin + at.path
    if (seen.has(url)) return stop('redirect-loop', `back at ${url}`)
    seen.add(url)
    const isFirst = hops.length === 0
    const headers = isFirst ? conditional(agent, state) : headersOf(agent)
    const result = await (isFirst ? first(headers) : hop(headers))
    if ('what' in result) return result
    if (result.kind === 'not-sent') {
      if (!isFirst && tools.connections.egressWaitMs(agent, at.origin) > 0) {
        // Egress failed behind an answer of this origin, which is not at fault: the delay is owed, and nothing is recorded.
        tools.connections.waitBehind(origin)
        return { ...ended(result.endedAt), what: 'egress', detail: result.why, unsent: 'not-sent' }
      }
      if (!isFirst) return stop('timeout', result.why, result.endedAt)
      return { ...ended(result.endedAt), what: 'not-sent', detail: result.why, unsent: 'not-sent' }
    }
    if (result.kind === 'unanswered') {
      const failure = failureOf(result.error, result.phase)
      const { message } = result.error
      if (at.origin !== origin) return stop(ofHop(failure), message, result.endedAt)
      if (failure !== 'no-contact') return stop(failure, message, result.endedAt)
      return { ...ended(result.endedAt), what: failure, detail: message, unsent: failure }
    }
    hops.push({ url, answer: result, headers })
    const target = leadsTo(result, at)
    if (target.kind === 'none') {
      const chain = { isFirst, isConditional: isConditional(state) }
      const { bytes, ...reading } = lastRead ?? (await readRobots(result, chain, tools))
      return { ...ended(result.endedAt), ...reading, ...defined({ rules: bytes }) }
    }
    if (target.kind === 'unusable') {
      const isScheme = target.refused === 'scheme-not-supported' || target.refused === 'ftp-not-supported'
      return stop(isScheme ? 'blocked-scheme' : 'protocol', target.why, result.endedAt)
    }
    if (hops.length > ROBOTS_MAX_REDIRECTS)
      return stop('too-many-redirects', `more than ${ROBOTS_MAX_REDIRECTS} redirects`, result.endedAt)
    // A redirect's Retry-After delays only the redirected request (RFC 9110 §10.2.3).
    const requested = readRetryAfter(linesOf(result.headers, 'retry-after'))
    const waitMs = hasWaited ? 0 : isFor(requested)
    if (waitMs >= left()) {
      const detail = `the redirect to ${target.url} asks to wait ${Math.ceil(waitMs / 1_000)} s`
      return stop('timeout', detail, result.endedAt, requested)
    }
    if (waitMs > 0) await clock.sleep(waitMs)
    at = target.at
  }
}

/** The target of a redirect; `none`: the answer ends the chain. */
const leadsTo = ({ status, headers }: Answer, { origin, path }: { origin: string; path: string }): Target =>
  isRedirect(status) ? targetOf(headers, origin + path) : { kind: 'none' }

/**
 * Maps the failure of a hop to another origin to a failure of the first request's origin. A guarded address or a missing name there says
 * nothing about the address here and must not end the URLs of this origin: it counts as a redirect without a usable target
 * (docs/spec/robots.md §1).
 */
function ofHop(failure: Failure): UnansweredReason {
  if (failure === 'nxdomain') return 'dns'
  return failure === 'blocked-address' || failure === 'blocked-port' ? 'blocked-hop' : failure
}

/** One request: over the lane's connection at the first request's origin, over a one-off connection elsewhere. */
async function request(
  agent: Agent,
  at: { origin: string; path: string },
  connections: LaneConnections,
  requested: string,
  how: Pick<ExchangeRequest, 'headers' | 'deadlineMs' | 'lastCheck' | 'confirm'>,
): Promise<Exchange> {
  const isOwn = at.origin === requested
  const way = isOwn ? connections.lane(agent, at.origin) : connections.once(agent, at.origin)
  try {
    return await exchange({ ...at, ...how, way, maxBytes: ROBOTS_WIRE_MAX_BYTES, keepBody: () => true })
  } finally {
    if (!isOwn) void way.destroy()
  }
}

/** Adds the copy's validator, if any, to the request: a 304 then renews the copy. */
function conditional(agent: Agent, { copy }: RobotsState): string[] {
  const headers = [...headersOf(agent)]
  if (copy?.etag !== undefined) headers.push('if-none-match', copy.etag)
  if (copy?.lastModified !== undefined) headers.push('if-modified-since', copy.lastModified)
  return headers
}
const isConditional = ({ copy }: RobotsState): boolean => copy?.etag !== undefined || copy?.lastModified !== undefined
