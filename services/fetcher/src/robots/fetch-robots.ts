/** The robots fetch of an origin: what is known, the requests, what is kept of them, and the new record of the origin. */
import type { Agent, Agents } from '@decorum/config'
import { LedgerUnavailableError } from '@decorum/ledger'
import { type Delay, delayByRules } from '@decorum/politeness'
import { type Order, outcomeOf } from '@decorum/protocol'
import { parseRobots, policies, type RobotsEvent, type RobotsState, type RobotsTxt, step } from '@decorum/robots'
import { crashPoint } from '@decorum/runtime'
import { NORMAL_LOAD } from '../http/read-answer.ts'
import { requestHead } from '../http/request-head.ts'
import { KEEP_LEAST_MS } from '../limits.ts'
import { endRobotsFetch, type Fetched, type Held, type Recorded, type UntimedRecord } from '../orders/complete.ts'
import type { ExchangeTools, OrdersLedger } from '../orders/tools.ts'
import { type KeepTools, keep } from '../sink/keep.ts'
import type { Page } from '../sink/sink.ts'
import { askRobots, type RobotsAnswer } from './ask-robots.ts'
import { hopLanes } from './hop-lane.ts'
import { hopRules } from './hop-rules.ts'

/** The part of an order that a robots fetch needs; `decorum check` has no order, and acquires the lane by its name. */
export type RobotsOrder = Pick<Order, 'agent' | 'origin' | 'path' | 'fence' | 'delayMs' | 'id' | 'meta'> & {
  crawl?: string
  kind: 'robots'
  /** the lane is held by a secondary lease: its URLs are not affected */
  secondary?: true
}

export type FetchedRobots = Fetched & { answer: RobotsAnswer }

/** Nothing is sent while the ledger does not say what is known of the origin. */
export async function fetchRobots(
  order: Omit<RobotsOrder, 'kind'>,
  agent: Agent,
  { lease, groups }: Held,
  tools: ExchangeTools,
): Promise<FetchedRobots> {
  const { ledger, agents, connections, stats } = tools
  const { origin, path, fence } = order
  const partition = ledger.partitionOf(origin)
  // Rounded up: an answer that is dated before it came would be asked for again too early.
  const now = (): number => Math.ceil(ledger.now(partition)) + 1
  const jitter = Math.random
  const known = await knownOf(origin, ledger)
  if (known instanceof LedgerUnavailableError) {
    stats.refused('ledger-unavailable')
    return notSent(known.message)
  }
  const old = await withBody(known, (hash) => ledger.body(partition, hash))
  crashPoint('robots.fetching')
  const answer = await askRobots(origin, path, agent, old.asking, lease, {
    connections,
    acquireHop: hopLanes(groups, fence),
    endRobotsFetch: (at, hopFence) => endRobotsFetch(at, hopFence, ledger, agents),
    forbidsHop: hopRules(ledger, agent, origin, now),
    wrongAddress: groups.wrongAddress,
    now,
    jitter,
  })
  await keepHops(origin, answer, agent, tools)
  const { what, bodyBytes, endedAt, tookMs, event, unsent } = answer
  const fetched: FetchedRobots = { answer, what, bytes: bodyBytes, endedAt, load: answer.load ?? NORMAL_LOAD }
  if (tookMs !== undefined) fetched.tookMs = tookMs
  if (event !== undefined) {
    const state = tools.siteAnswers.stateAfter(old.state, origin, event)
    const recordOf = (next: RobotsState, rules: Uint8Array | undefined): UntimedRecord => {
      return { agent: order.agent, origin, fence, state: next, delays: delaysOf(agents, next, rules ?? old.body) }
    }
    fetched.record = recordedBy(state, event, answer.rules, old.body, recordOf, now(), jitter())
  } else if (unsent === 'no-contact' && !order.secondary) {
    // The agent may not go there at all, so the URL at the head of the lane ends.
    const about = { id: order.id, url: origin, agent: agent.name, crawl: order.crawl, meta: order.meta, attempts: 0 }
    fetched.outcome = outcomeOf({ ...about, at: Math.round(ledger.now()) }, { kind: 'refused', reason: unsent })
  }
  return fetched
}

/** @returns the error when the ledger does not answer: the lane is then given back at once, for it would be held for a whole lease */
async function knownOf(origin: string, ledger: OrdersLedger): Promise<RobotsState | LedgerUnavailableError> {
  try {
    const [known] = await ledger.robotsStates(ledger.partitionOf(origin), [origin])
    return known?.state ?? {}
  } catch (error) {
    if (error instanceof LedgerUnavailableError) return error
    throw error
  }
}

function notSent(detail: string): FetchedRobots {
  const what = 'not-sent'
  const endedAt = performance.now()
  const answer: RobotsAnswer = { what, detail, unsent: what, endedAt, bodyBytes: 0, hops: [] }
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
  robots.body = { hash: copy.hash, octets: body }
  const noRoom = step(state, { kind: 'unanswered', reason: 'no-room', jitter }, now)
  // The delay that the file asks for is known, whether or not there is room for the file.
  return { robots, withoutBody: { ...recordOf(noRoom, undefined), delays: robots.delays } }
}

/** The body of the copy. undefined: there is no copy · 'lost': it should be there · 'unknown': the ledger did not answer. */
type Body = Uint8Array | undefined | 'lost' | 'unknown'

/**
 * What is known of an origin, with the body of its copy. A copy whose body is lost counts as none.
 * `asking`: the same, with the copy only where its body is at hand, so that its validators may be sent.
 */
async function withBody(
  state: RobotsState,
  bodyOf: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<{ state: RobotsState; body: Body; asking: RobotsState }> {
  const { copy, ...rest } = state
  if (copy === undefined) return { state, body: undefined, asking: state }
  const body: Body = await bodyOf(copy.hash).then(
    (bytes) => bytes ?? 'lost',
    () => 'unknown',
  )
  if (body === 'unknown') return { state, body, asking: rest }
  return body === 'lost' ? { state: rest, body, asking: rest } : { state, body, asking: state }
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

/** The sink keeps each hop as an exchange of its own, the last with what was concluded. All bodies are discarded. */
async function keepHops(origin: string, { hops, event }: RobotsAnswer, agent: Agent, tools: KeepTools): Promise<void> {
  for (const [at, { url, answer, headers }] of hops.entries()) {
    if (tools.sink.keepsBodies) {
      const path = url.slice(url.indexOf('/', url.indexOf('//') + 2))
      const head = requestHead(url.slice(0, url.length - path.length), path, headers, answer.protocol)
      const page: Page = { kind: 'robots', url, agent: agent.name, requestHead: head, answer }
      if (at === hops.length - 1) page.note = noteOf(origin, event)
      await keep(page, KEEP_LEAST_MS, tools)
    }
    await answer.body.discard().catch(() => {}) // a temporary file that cannot be closed does no harm
  }
}

function noteOf(origin: string, event: RobotsEvent | undefined): Record<string, string> {
  const note: Record<string, string> = { 'robots-of': origin }
  if (event?.kind === 'answered') {
    note['robots-answer'] = `status ${event.status}`
    if (event.hash !== undefined) note['robots-rules'] = `sha256:${event.hash}` // of the decoded bytes, first 128 bits
  } else if (event?.kind === 'unanswered') note['robots-answer'] = `none: ${event.reason}`
  return note
}
