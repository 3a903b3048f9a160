/** A robots order from request to lesson: what the ledger is told of the origin's state, rules and delays. */

import type { Agent, Agents } from '@decorum/config'
import type { Ledger, RobotsRecord } from '@decorum/ledger'
import { type Delay, delayAfter, effectiveDelay } from '@decorum/politeness'
import type { Order } from '@decorum/protocol'
import { parseRobots, policies, type RobotsEvent, type RobotsState, type RobotsTxt, step } from '@decorum/robots'
import { crashPoint } from '@decorum/runtime'
import { requestHead } from '../http/request-head.ts'
import type { Lease } from '../orders/lease.ts'
import { type Page, type Sink, storeInTime } from '../sink/sink.ts'
import { fetchRobots, type HopTools, type RobotsAnswer } from './fetch-robots.ts'
import type { SiteAnswers } from './site-answers.ts'

export type RobotsTools = HopTools & {
  agents: Agents
  sink: Sink
  siteAnswers: SiteAnswers
  ledger: Pick<Ledger, 'robotsStates' | 'body' | 'partitionOf'>
  now: () => number
  /** [0, 1) */
  jitter: () => number
  onSinkError: (error: unknown) => void
}

export type Learned = {
  answer: RobotsAnswer /** undefined: there is nothing to teach */
  robotsRecord?: Omit<RobotsRecord, 'elapsedMs'>
  /** the same, when there was no room for the body: nobody may go by rules that nobody can read later */
  withoutRoom?: Omit<RobotsRecord, 'elapsedMs'>
}

/** @throws LedgerUnavailableError before anything was sent, when the state cannot be read */
export async function recordRobots(
  order: Pick<Order, 'agent' | 'origin' | 'path' | 'fence' | 'delayMs'>,
  agent: Agent,
  lease: Lease,
  tools: RobotsTools,
): Promise<Learned> {
  const { agents, ledger, sink } = tools
  const partition = ledger.partitionOf(order.origin)
  const [known] = await ledger.robotsStates(partition, [order.origin])
  const old = await atHand(known?.state ?? {}, (hash) => ledger.body(partition, hash))
  crashPoint('robots.fetching')
  const answer = await fetchRobots(order.origin, order.path, agent, old.asking, lease, tools)
  await keep(order.origin, answer, agent, sink, tools.onSinkError)
  const { event, octets } = answer
  if (event === undefined) return { answer }
  const state = tools.siteAnswers.toldTo(old.state, order.origin, event)
  const lessonOf = (next: RobotsState, fetched: Uint8Array | undefined): Omit<RobotsRecord, 'elapsedMs'> => {
    const { agent: asker, origin, fence, delayMs } = order
    const delays = delaysOf(agents, next, fetched ?? old.body)
    return { agent: asker, origin, fence, state: next, delays, delayMs: delayAfter(agent, delayMs, answer.tookMs) }
  }
  const now = tools.now()
  const robotsRecord = lessonOf(step(state, event, now), octets)
  const { copy } = robotsRecord.state
  const confirmed = event.kind === 'answered' && event.status === 304 && old.body instanceof Uint8Array
  const body = octets ?? (confirmed ? old.body : undefined)
  if (copy === undefined || !(body instanceof Uint8Array)) return { answer, robotsRecord }
  robotsRecord.body = { hash: copy.hash, octets: body }
  const noRoom = step(state, { kind: 'unanswered', reason: 'no-room', jitter: tools.jitter() }, now)
  // the delay that it asked for is known, whether or not it is kept
  return { answer, robotsRecord, withoutRoom: { ...lessonOf(noRoom, undefined), delays: robotsRecord.delays } }
}

/** The body of the copy; undefined: there is none · 'lost': it should be there · 'unknown': the ledger does not say. */
type Body = Uint8Array | undefined | 'lost' | 'unknown'
/**
 * What is known of an origin, with the body of its copy. A copy whose body is lost is none any more.
 * `asking`: the same, with the copy only where its body is at hand; its validators may be sent.
 */
async function atHand(
  state: RobotsState,
  bodyOf: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<{ state: RobotsState; body: Body; asking: RobotsState }> {
  const { copy, ...rest } = state
  if (copy === undefined) return { state, body: undefined, asking: state }
  const body: Body = await bodyOf(copy.hash).then(
    (octets) => octets ?? 'lost',
    () => 'unknown',
  )
  if (body === 'unknown') return { state, body, asking: rest }
  return body === 'lost' ? { state: rest, body, asking: rest } : { state, body, asking: state }
}

/**
 * Each agent's delay under its own policy; one file is compiled once per profile. Through an outage the last copy's delay
 * holds, whether or not the copy's rules do, and without its body the delay that is known: slower, never ruder.
 */
function delaysOf(agents: Agents, { answer }: RobotsState, body: Body): ({ agent: string } & Partial<Delay>)[] {
  const compiled = new Map<string, RobotsTxt>()
  return agents.list.map((agent) => {
    const policy = policies[agent.profile]
    const isOpen = answer === undefined || policy.answers[answer.kind] === 'open'
    if (isOpen) return { agent: agent.key, ...effectiveDelay(agent, undefined) }
    if (!(body instanceof Uint8Array)) return { agent: agent.key } // what is known stays
    const rules = compiled.get(agent.profile) ?? parseRobots(body, { policy })
    compiled.set(agent.profile, rules)
    return { agent: agent.key, ...effectiveDelay(agent, rules) }
  })
}

/** Every hop goes to the archive as an exchange of its own, the last with what was concluded; the bodies are let go. */
async function keep(
  origin: string,
  { hops, event }: RobotsAnswer,
  agent: Agent,
  sink: Sink,
  onSinkError: (error: unknown) => void,
): Promise<void> {
  for (const [at, { url, answer, headers }] of hops.entries()) {
    if (sink.keepsBodies) {
      const path = url.slice(url.indexOf('/', url.indexOf('//') + 2))
      const head = requestHead(url.slice(0, url.length - path.length), path, headers)
      const page: Page = { kind: 'robots', url, agent: agent.name, requestHead: head, answer }
      if (at === hops.length - 1) page.note = concluded(origin, event)
      await storeInTime(sink, page).catch(onSinkError)
    }
    await answer.body.discard().catch(() => {}) // a temporary file that cannot be closed harms nobody
  }
}

function concluded(origin: string, event: RobotsEvent | undefined): Record<string, string> {
  const note: Record<string, string> = { 'robots-of': origin }
  if (event?.kind === 'answered') {
    note['robots-answer'] = `status ${event.status}`
    if (event.hash !== undefined) note['robots-rules'] = `sha256:${event.hash}` // of the decoded octets, first 128 bits
  } else if (event?.kind === 'unanswered') note['robots-answer'] = `none: ${event.reason}`
  return note
}
