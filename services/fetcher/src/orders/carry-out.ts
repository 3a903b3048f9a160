/**
 * One order from its slot to its end: wait until the lane opens → begin → request → settle or learn. Whatever goes
 * wrong in between, the lease ends by itself: nothing here may hold a lane for ever, and nothing may be sent without it.
 */

import { type Agent, type Agents, UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import {
  type CompleteResult,
  type Completion,
  type Ledger,
  LedgerUnavailableError,
  type Resolution,
} from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { namesRobotsTxt, type Order } from '@decorum/protocol'
import { crashPoint } from '@decorum/runtime'
import type { LaneConnections, Way } from '../http/connections.ts'
import { GRANT_AHEAD_MS } from '../limits.ts'
import { fetchPage, type PageLease } from '../page/fetch-page.ts'
import type { Stats } from '../process/stats.ts'
import type { RobotsAnswer } from '../robots/fetch-robots.ts'
import { hopRules } from '../robots/hop-rules.ts'
import { recordRobots } from '../robots/record-robots.ts'
import type { SiteAnswers } from '../robots/site-answers.ts'
import type { Sink } from '../sink/sink.ts'
import { type Lease, later, startLease } from './lease.ts'
import type { Clocks, Pace } from './pace.ts'

export type Fleet = Pick<
  Ledger,
  | 'start'
  | 'confirm'
  | 'acquire'
  | 'resolve'
  | 'complete'
  | 'record'
  | 'endRobotsFetch'
  | 'robotsStates'
  | 'body'
  | 'partitionOf'
  | 'now'
  | 'wall'
>

export type Tools = {
  ledger: Fleet
  connections: LaneConnections
  agents: Agents
  pace: Pace
  sink: Sink
  siteAnswers: SiteAnswers
  stats: Stats
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void }
  pageMaxBytes: number
  maxAttempts: number
  fetchDeadlineMs: number
  leaseMs: number
  /** true once the process is asked to stop: no new permit is asked for */
  isStopping: () => boolean
}

/** Between two tries to hand a lease back to a ledger that does not answer. */
const SETTLE_AGAIN_MS = 250

/** Never rejects. */
export async function carryOut(order: Order, tools: Tools): Promise<void> {
  const { stats, log, agents } = tools
  try {
    const agent = agents.find(order.agent)
    if (agent === undefined) {
      if (isFirstOf(agents, order.agent))
        log.error(
          { agent: order.agent, origin: order.origin },
          'orders of an agent that this fetcher does not know are given back: DECORUM_AGENTS differs within the fleet',
        )
      return await giveBack(order, tools, 'unknown-agent', UNKNOWN_AGENT_WAIT_MS)
    }
    const waitMs = order.notBefore - tools.ledger.now(tools.ledger.partitionOf(order.origin)) - GRANT_AHEAD_MS / 2
    if (waitMs > 0) await later(waitMs)
    if (tools.isStopping()) return await giveBack(order, tools, 'stopping')
    const entering = tools.pace.acquire(agent, order.origin, order.delayMs)
    const clocks = entering instanceof Promise ? await entering : entering
    // A lane is begun a little ahead, a group is not: whoever comes before his turn would lose it.
    if ('waitMs' in clocks) return await giveBack(order, tools, 'paced', clocks.waitMs + GRANT_AHEAD_MS)
    const { fetchDeadlineMs, leaseMs } = tools
    const started = await startLease(tools.ledger, order, fetchDeadlineMs, leaseMs - fetchDeadlineMs, clocks.hostLane)
    if (started.kind === 'refused') {
      if (started.why === 'too-early') await giveBack(order, tools, started.why)
      else stats.refused(started.why)
      return await clocks.release()
    }
    clocks.started(started.clock)
    stats.started++
    try {
      if (order.kind === 'robots') await robots(order, agent, started.lease, clocks, tools)
      else await page(order, agent, started.lease, clocks, tools)
    } finally {
      stats.ended++
    }
  } catch (error) {
    stats.broken++
    log.error({ err: error, origin: order.origin, kind: order.kind }, 'an order broke off; its lease ends by itself')
  }
}

/** Names that a fetcher has complained about: once each, for their orders come again and again. */
const unknownNames = new WeakMap<Agents, Set<string>>()
function isFirstOf(agents: Agents, name: string): boolean {
  const said = unknownNames.get(agents) ?? new Set<string>()
  unknownNames.set(agents, said)
  if (said.has(name)) return false
  said.add(name)
  return true
}

/** A lane that was reserved for us and that we shall not begin: whoever is left takes it, at once or in so many ms. */
async function giveBack(
  { agent, origin, fence }: Order,
  { ledger, stats }: Tools,
  why: 'stopping' | 'paced' | 'too-early' | 'unknown-agent',
  waitMs?: number,
): Promise<void> {
  stats.refused(why)
  const partition = ledger.partitionOf(origin)
  const next: Resolution['next'] =
    waitMs === undefined
      ? { kind: 'release' }
      : {
          kind: 'defer',
          until: ledger.now(partition) + waitMs,
          why: why === 'unknown-agent' ? why : 'pace-group',
        }
  await ledger.resolve(partition, [{ agent, origin, fence, dropped: [], next }]).catch(() => {}) // a reservation ends by itself, too
}

/** Nothing has left this machine: the lane goes back to its own clock, and the URL has not been tried. */
async function unused(
  order: Pick<Order, 'agent' | 'origin' | 'fence'>,
  lease: Lease,
  endedAt: number,
  clocks: Clocks,
  tools: Pick<Tools, 'ledger' | 'stats'>,
): Promise<void> {
  const { agent, origin, fence } = order
  const partition = tools.ledger.partitionOf(origin)
  const word: Resolution = { agent, origin, fence, dropped: [], next: { kind: 'unused' } }
  const released = clocks.release()
  await handBack(lease, endedAt, tools, async () => (await tools.ledger.resolve(partition, [word]))[0] ?? 'stale')
  await released
}

/** The lease, good for the address alone whose clock is held. */
const watching = (lease: Lease, { astray }: Clocks, way: Way): PageLease => ({
  deadlineMs: () => lease.deadlineMs(),
  lastCheck: () => lease.lastCheck() ?? astray(way.connection()?.address),
  confirm: () => lease.confirm(),
})

async function page(order: Order, agent: Agent, lease: Lease, clocks: Clocks, tools: Tools): Promise<void> {
  const { agent: key, origin, fence } = order
  const watched = tools.pace.watchesAddress ? watching(lease, clocks, tools.connections.lane(agent, origin)) : lease
  const result = await fetchPage(order, agent, watched, {
    connections: tools.connections,
    sink: tools.sink,
    pageMaxBytes: tools.pageMaxBytes,
    maxAttempts: tools.maxAttempts,
    now: () => tools.ledger.wall(tools.ledger.partitionOf(origin)),
    onSinkError: (error) => tools.stats.sinkFailed(error, tools.log),
  })
  const { load, outcome, candidate, endedAt, tookMs, what, bytes } = result
  tools.stats.exchanged('page', what, bytes)
  if (what === 'not-sent') return await unused(order, lease, endedAt, clocks, tools)
  const delayMs = delayAfter(agent, order.delayMs, tookMs)
  const completion: Completion = { agent: key, origin, fence, delayMs, elapsedMs: 0, load }
  if (outcome !== undefined) completion.outcome = outcome
  if (outcome?.kind === 'fetched') tools.siteAnswers.heard(origin, outcome.status, outcome.at)
  if (candidate !== undefined) completion.candidate = candidate
  crashPoint('complete.before')
  const left = clocks.leave({ endedAt, load, delayMs }) // in the same call to the ledger where they share a partition
  await handBack(lease, endedAt, tools, (elapsedMs) => {
    completion.elapsedMs = elapsedMs
    return tools.ledger.complete(completion)
  })
  crashPoint('complete.after')
  if (namesRobotsTxt(order.path)) await endRobotsFetch(origin, fence, tools)
  if (left !== undefined) await left
}

/** Whoever waits for the robots fetch of an origin is woken. One that is not ended so ends by itself. */
async function endRobotsFetch(
  origin: string,
  fence: number,
  { ledger, agents }: Pick<Tools, 'ledger' | 'agents'>,
): Promise<void> {
  await ledger.endRobotsFetch({ origin, fence, agents: agents.list.map(({ key }) => key) }).catch(() => {})
}

/** What a robots fetch has to know of itself: an order, or a person's wish (visit-robots.ts). */
export type RobotsFetch = Pick<Order, 'agent' | 'origin' | 'path' | 'fence' | 'delayMs' | 'id' | 'meta'> & {
  /** its lane was entered by name: what is learned ends no lease of it */
  secondary?: true
}

/** The robots fetch of an origin under its lease: the request, its redirects, and what the ledger is told of it. */
export async function robots(
  order: RobotsFetch,
  agent: Agent,
  lease: Lease,
  clocks: Clocks,
  tools: Omit<Tools, 'pace' | 'pageMaxBytes' | 'maxAttempts' | 'fetchDeadlineMs' | 'leaseMs' | 'isStopping'>,
): Promise<RobotsAnswer> {
  const { agent: key, origin, fence, delayMs } = order
  // rounded up: an answer is never dated before it came, or its retry would come too early
  const now = () => Math.ceil(tools.ledger.now(tools.ledger.partitionOf(origin))) + 1
  const { answer, robotsRecord, withoutRoom } = await recordRobots(order, agent, lease, {
    ledger: tools.ledger,
    acquireHop: (hop) => clocks.acquireHop({ ...hop, fence }),
    endRobotsFetch: (at, hopFence) => endRobotsFetch(at, hopFence, tools),
    forbidsHop: hopRules(tools.ledger, agent, origin, now),
    astray: clocks.astray,
    connections: tools.connections,
    agents: tools.agents,
    sink: tools.sink,
    siteAnswers: tools.siteAnswers,
    now,
    jitter: Math.random,
    onSinkError: (error) => tools.stats.sinkFailed(error, tools.log),
  })
  tools.stats.exchanged('robots', answer.what, answer.bytes)
  if (answer.notSent !== undefined) {
    await unused(order, lease, answer.endedAt, clocks, tools)
    await endRobotsFetch(origin, fence, tools)
    return answer
  }
  // The request that brought a delay owes it already: to its lane, and to the clocks above.
  const learnedMs = robotsRecord?.delays.find((delay) => delay.agent === key)?.delayMs ?? 0
  const owedMs = Math.max(delayAfter(agent, delayMs, answer.tookMs), learnedMs, clocks.hopsOweMs())
  const left = clocks.leave({ endedAt: answer.endedAt, delayMs: owedMs })
  if (robotsRecord !== undefined) {
    crashPoint('record.before')
    await handBack(lease, answer.endedAt, tools, async (elapsedMs) => {
      // Whoever stood still meanwhile would date an old answer as a new one.
      if (lease.age() >= lease.leaseMs) return 'stale'
      const owed = { delayMs: owedMs, elapsedMs, ...(order.secondary ? { forAsker: true } : {}) }
      const told = await tools.ledger.record({ ...robotsRecord, ...owed })
      if (told !== 'full') return told
      tools.log.warn(
        { origin },
        'no room for this robots.txt (ROBOTS_DOMAIN_MAX_BYTES, ROBOTS_BODIES_MAX_BYTES): it is asked for again later',
      )
      const parked = await tools.ledger.record({ ...(withoutRoom ?? robotsRecord), ...owed })
      return parked === 'full' ? 'stale' : parked
    })
    crashPoint('record.after')
    if (order.secondary) {
      const lane = {
        agent: key,
        origin,
        fence,
        delayMs: owedMs,
        load: { kind: 'normal' as const },
        secondary: true as const,
      }
      await handBack(lease, answer.endedAt, tools, (elapsedMs) => tools.ledger.complete({ ...lane, elapsedMs }))
    }
    await left
    return answer
  }
  // The waiting head ends, since the agent may not go there at all. The robots fetch ends, so that the next one need not wait
  // for the end of this lease.
  const head: Omit<Completion, 'elapsedMs'> = {
    agent: key,
    origin,
    fence,
    delayMs: owedMs,
    load: { kind: 'normal' },
    secondary: true,
  }
  if (answer.noContact === true) {
    const { id, meta } = order
    const said = { id, url: order.origin, agent: agent.name, at: Math.round(tools.ledger.now()), attempts: 0 }
    head.outcome = { ...said, kind: 'refused', reason: 'no-contact', ...(meta === undefined ? {} : { meta }) }
  }
  await handBack(lease, answer.endedAt, tools, (elapsedMs) => tools.ledger.complete({ ...head, elapsedMs }))
  await endRobotsFetch(origin, fence, tools)
  await left
  return answer
}

type Tell = (elapsedMs: number) => Promise<CompleteResult>

/** Tells the ledger until it hears or the lease is over. Telling twice is safe: the fence makes the second one stale. */
function handBack(lease: Lease, endedAt: number, tools: Pick<Tools, 'stats'>, tell: Tell): Promise<void> {
  return tell(Math.max(0, performance.now() - endedAt)).then(
    (told) => {
      if (told === 'stale') tools.stats.stale++
    },
    (error: unknown) => tellAgain(lease, endedAt, tools, tell, error),
  )
}

async function tellAgain(
  lease: Lease,
  endedAt: number,
  { stats }: Pick<Tools, 'stats'>,
  tell: Tell,
  first: unknown,
): Promise<void> {
  for (let failure: unknown = first; failure !== undefined; ) {
    if (!(failure instanceof LedgerUnavailableError)) throw failure as Error
    stats.unheard++
    if (lease.age() >= lease.leaseMs) return
    await later(SETTLE_AGAIN_MS)
    // After a reply that was lost, 'stale' is what a success looks like.
    failure = await tell(Math.max(0, performance.now() - endedAt)).then(
      () => undefined,
      (error: unknown) => error,
    )
  }
}
