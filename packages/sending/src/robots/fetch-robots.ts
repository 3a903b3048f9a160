/** The robots fetch of an origin: its known state, the requests, and its new record. */
import type { Agents } from '@decorum/config'
import { type Ledger, LedgerUnavailableError } from '@decorum/ledger'
import { type Delay, delayByRules } from '@decorum/politeness'
import { type Clock, type Order, outcomeOf, type Tolerated } from '@decorum/protocol'
import { parseRobots, policies, type RobotsEvent, type RobotsState, type RobotsTxt, step } from '@decorum/robots'
import { crashPoint, defined } from '@decorum/runtime'
import type { LaneConnections } from '../http/connections.ts'
import type { Fetched, Lease } from '../leases/lease.ts'
import type { Recorded, UntimedRecord } from '../ledger.ts'
import { NORMAL_LOAD } from '../load.ts'
import { type RobotsAnswer, requestRobots } from './ask-robots.ts'
import { type HopTools, hopLanes } from './hop-lane.ts'
import { hopRules } from './hop-rules.ts'
import { remarkOf } from './remark.ts'
import type { SiteAnswers } from './site-answers.ts'

/** Dependencies of a robots fetch. */
export type FetchTools = HopTools & {
  ledger: Pick<Ledger, 'robotsStates' | 'body' | 'now' | 'wall'>
  connections: LaneConnections
  siteAnswers: SiteAnswers
}

/** The part of an order that a robots fetch needs. */
export type RobotsOrder = Pick<Order, 'path' | 'id'> & Partial<Pick<Order, 'by' | 'crawl' | 'meta' | 'isUnclaimed'>>

/** `answer`: the exchanges, whose bodies the caller discards. `refusal`: why nothing was sent. */
export type FetchedRobots = Fetched & { answer: RobotsAnswer; refusal?: 'ledger-unavailable' }

/** Nothing is sent unless the ledger answers with the known state of the origin. */
export async function fetchRobots(order: RobotsOrder, lease: Lease, tools: FetchTools): Promise<FetchedRobots> {
  const { ledger, agents, connections } = tools
  const { agent } = lease
  const { origin, fence, kind } = lease.leases.own
  const partition = ledger.partitionOf(origin)
  // Rounded up: an answer dated before its arrival would be fetched again too early.
  const now = (): number => Math.ceil(ledger.now(partition)) + 1
  const { clock } = ledger
  const known = await knownOf(origin, ledger)
  if (known instanceof LedgerUnavailableError)
    return { ...notSent(clock, known.message), refusal: 'ledger-unavailable' }
  const old = await withBody(known, (hash) => ledger.body(partition, hash))
  crashPoint('robots.fetching')
  const answer = await requestRobots(origin, order.path, agent, old.requesting, lease, {
    connections,
    acquireHop: hopLanes(lease, tools),
    forbidsHop: hopRules(ledger, agent, origin, now),
    wall: () => ledger.wall(partition),
    now,
    clock,
  })
  const { what, bodyBytes, endedAt, tookMs, load, unsent } = answer
  const event = answer.event && onLedger(answer.event, ledger.now(partition) - ledger.wall(partition))
  const fetched: FetchedRobots = { answer, what, bytes: bodyBytes, endedAt, load, ...defined({ tookMs }) }
  if (event !== undefined) {
    const state = tools.siteAnswers.stateAfter(old.state, origin, event)
    const recordOf = (next: RobotsState, rules: Uint8Array | undefined): UntimedRecord => {
      const delays = delaysOf(agents, next, rules ?? old.body)
      const found = defined({ tolerated: overlooked(answer), remark: rules && remarkOf(rules, agents) })
      const unclaimed = order.isUnclaimed === true ? { unclaimedBy: order.by ?? '' } : {}
      return { agent: agent.key, origin, fence, state: next, delays, ...found, ...unclaimed }
    }
    fetched.record = recordedBy(state, event, answer.rules, old.body, recordOf, now(), clock.random())
  } else if (unsent === 'no-contact' && kind !== 'secondary') {
    // The agent is not allowed there at all, so the URL at the head of the lane ends.
    const about = { id: order.id, url: origin, agent: agent.name, crawl: order.crawl, meta: order.meta, attempts: 0 }
    fetched.outcome = outcomeOf({ ...about, at: Math.round(ledger.now()) }, { kind: 'refused', reason: unsent })
  }
  return fetched
}

/** Tolerated faults in any answer of the chain. */
function overlooked({ hops }: RobotsAnswer): Tolerated[] | undefined {
  const all = new Set(hops.flatMap(({ answer }) => answer.tolerated))
  return all.size > 0 ? [...all] : undefined
}

/** Converts a site's date, an instant on Redis's clock, to the ledger's time. @param aheadMs  how far the ledger's time is ahead */
function onLedger<E extends RobotsEvent>(event: E, aheadMs: number): E {
  if (!('retryAfterAt' in event) || event.retryAfterAt === undefined) return event
  return { ...event, retryAfterAt: Math.ceil(event.retryAfterAt + aheadMs) }
}

/** @returns the error when the ledger does not answer: the lane is then released at once instead of being held for a whole lease */
async function knownOf(origin: string, ledger: FetchTools['ledger']): Promise<RobotsState | LedgerUnavailableError> {
  try {
    const [known] = await ledger.robotsStates(ledger.partitionOf(origin), [origin])
    return known?.state ?? {}
  } catch (error) {
    if (error instanceof LedgerUnavailableError) return error
    throw error
  }
}

function notSent(clock: Clock, detail: string): FetchedRobots {
  const what = 'not-sent'
  const endedAt = clock.monotonic()
  const answer: RobotsAnswer = { what, detail, unsent: what, endedAt, load: NORMAL_LOAD, bodyBytes: 0, hops: [] }
  return { answer, what, bytes: 0, endedAt, load: NORMAL_LOAD }
}

function recordedBy(
  state: RobotsState,
  event: RobotsEvent,
  rules: Uint8Array | undefined,
  oldBody: Body,
  recordOf: (next: RobotsState, rules: Uint8Array | undefined) => UntimedRecord,
  now: number,
  jitter: number,
): Recorded {
  const robots = recordOf(step(state, event, now), rules)
  const { copy } = robots.state
  const isConfirmed = event.kind === 'answered' && event.status === 304
  const body = rules ?? (isConfirmed ? oldBody : undefined)
  if (copy === undefined || !(body instanceof Uint8Array)) return { robots }
  robots.body = { hash: copy.hash, bytes: body }
  const noRoom = step(state, { kind: 'unanswered', reason: 'no-room', jitter }, now)
  // The delay in the file is known, whether or not there is room for the file.
  return { robots, withoutBody: { ...recordOf(noRoom, undefined), delays: robots.delays } }
}

/** The body of the copy. undefined: there is no copy · 'lost': it should be there · 'unknown': the ledger did not answer. */
type Body = Uint8Array | undefined | 'lost' | 'unknown'

/**
 * The known state of an origin, with the body of its copy. A copy whose body is lost counts as none.
 * `requesting`: the same, with the copy only if its body is available, so that its validators may be sent.
 */
async function withBody(
  state: RobotsState,
  bodyOf: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<{ state: RobotsState; body: Body; requesting: RobotsState }> {
  const { copy, ...rest } = state
  if (copy === undefined) return { state, body: undefined, requesting: state }
  const body: Body = await bodyOf(copy.hash).then(
    (bytes) => bytes ?? 'lost',
    () => 'unknown',
  )
  if (body === 'unknown') return { state, body, requesting: rest }
  return body === 'lost' ? { state: rest, body, requesting: rest } : { state, body, requesting: state }
}

/**
 * The delay of each agent under its own policy; the file is compiled once per profile. During an outage the delay of the last copy
 * holds, whether or not the copy's rules do. Without the copy's body the known delay holds.
 */
function delaysOf(agents: Agents, { answer }: RobotsState, body: Body): ({ agent: string } & Partial<Delay>)[] {
  const compiled = new Map<string, RobotsTxt>()
  return agents.list.map((agent) => {
    const policy = policies[agent.profile]
    const isOpen = answer === undefined || policy.answers[answer.kind] === 'open'
    if (isOpen) return { agent: agent.key, ...delayByRules(agent, undefined) }
    if (!(body instanceof Uint8Array)) return { agent: agent.key } // the known delay stays
    const rules = compiled.get(agent.profile) ?? parseRobots(body, { policy })
    compiled.set(agent.profile, rules)
    return { agent: agent.key, ...delayByRules(agent, rules) }
  })
}
