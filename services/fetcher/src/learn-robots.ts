/** A robots order from request to lesson: what the ledger is told of the origin's state, rules and gaps. */
import { type Gap, gapAfter, gapFor, type Ledger, type Lesson } from '@decorum/ledger'
import type { Agent, Agents, Order } from '@decorum/protocol'
import { parseRobots, policies, type RobotsEvent, type RobotsState, type RobotsTxt, step } from '@decorum/robots'
import { crashPoint } from '@decorum/service'
import type { LaneConnections } from './connections.ts'
import { fetchRobots, type RobotsAnswer } from './fetch-robots.ts'
import type { Lease } from './lease.ts'
import type { Astray, EnterHop } from './pace.ts'
import { requestHead } from './request-head.ts'
import { type Page, type Sink, storeInTime } from './sink.ts'
import type { SiteAnswers } from './site-answers.ts'

export type RobotsTools = {
  connections: LaneConnections
  agents: Agents
  sink: Sink
  enterHop: EnterHop
  /** of the origin that is asked */
  astray: Astray
  /** silence owed between two requests of this visit, ms */
  restMs: number
  siteAnswers: SiteAnswers
  ledger: Pick<Ledger, 'robotsStates' | 'body' | 'partitionOf'>
  now: () => number
  /** [0, 1) */
  jitter: () => number
  onSinkError: (error: unknown) => void
}

export type Learned = {
  answer: RobotsAnswer /** undefined: there is nothing to teach */
  lesson?: Omit<Lesson, 'restedMs'> /** what was known before */
  state: RobotsState
}

/** @throws LedgerUnavailableError before anything was sent, when the state cannot be read */
export async function learnRobots(
  order: Pick<Order, 'agent' | 'origin' | 'path' | 'fence' | 'gapMs'>,
  agent: Agent,
  lease: Lease,
  tools: RobotsTools,
): Promise<Learned> {
  const { agents, ledger, sink } = tools
  const partition = ledger.partitionOf(order.origin)
  const [known] = await ledger.robotsStates(partition, [order.origin])
  const state: RobotsState = known?.state ?? {}
  crashPoint('robots.fetching')
  const answer = await fetchRobots(order.origin, order.path, agent, state, lease, tools)
  await keep(order.origin, answer, agent, sink, tools.onSinkError)
  if (answer.event === undefined) return { answer, state }
  const next = step(tools.siteAnswers.toldTo(state, order.origin, answer.event), answer.event, tools.now())
  const lesson: Omit<Lesson, 'restedMs'> = {
    agent: order.agent,
    origin: order.origin,
    fence: order.fence,
    state: next,
    gaps: [],
    gapMs: gapAfter(agent, order.gapMs, answer.tookMs),
  }
  if (answer.octets !== undefined && next.copy !== undefined)
    lesson.body = { hash: next.copy.hash, octets: answer.octets }
  const body = answer.octets ?? (await oldBody(next, partition, tools))
  if (body !== 'unknown') lesson.gaps = gapsOf(agents, next, body) // otherwise those that are known stay
  return { answer, lesson, state }
}

/** The copy that stays in force through a 304 or an outage; without it the gaps are the floors. */
async function oldBody(
  state: RobotsState,
  partition: number,
  { ledger }: RobotsTools,
): Promise<Uint8Array | undefined | 'unknown'> {
  return state.copy === undefined ? undefined : ledger.body(partition, state.copy.hash).catch(() => 'unknown' as const)
}

/**
 * Each agent's gap under its own policy; one file is compiled once per profile. Through an outage the last copy's delay
 * holds, whether or not the copy's rules do: slower, never ruder.
 */
function gapsOf(agents: Agents, { answer }: RobotsState, body: Uint8Array | undefined): (Gap & { agent: string })[] {
  const compiled = new Map<string, RobotsTxt>()
  return agents.list.map((agent) => {
    const policy = policies[agent.profile]
    let rules: RobotsTxt | undefined
    if (body !== undefined && answer !== undefined && policy.answers[answer.kind] !== 'open') {
      rules = compiled.get(agent.profile) ?? parseRobots(body, { policy })
      compiled.set(agent.profile, rules)
    }
    return { agent: agent.key, ...gapFor(agent, rules) }
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
