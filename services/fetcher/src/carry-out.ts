/**
 * One order from its slot to its end: wait until the lane opens → begin → request → settle or learn. Whatever goes
 * wrong in between, the lease ends by itself: nothing here may hold a lane for ever, and nothing may be sent without it.
 */
import {
  gapAfter,
  type Ledger,
  LedgerUnavailableError,
  type Resolution,
  type Settlement,
  type SettleResult,
} from '@decorum/ledger'
import type { Agent, Agents, Order } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import { crashPoint } from '@decorum/service'
import type { LaneConnections, Way } from './connections.ts'
import { fetchPage, type PageLease } from './fetch-page.ts'
import { learnRobots } from './learn-robots.ts'
import { beginLease, type Lease, later } from './lease.ts'
import { GRANT_AHEAD_MS } from './limits.ts'
import type { Clocks, Pace } from './pace.ts'
import type { Sink } from './sink.ts'
import type { SiteAnswers } from './site-answers.ts'
import type { Stats } from './stats.ts'

export type Fleet = Pick<
  Ledger,
  | 'begin'
  | 'confirm'
  | 'enter'
  | 'resolve'
  | 'settle'
  | 'learn'
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
      stats.refused('unknown-agent')
      log.error(
        { agent: order.agent, origin: order.origin },
        'an order of an agent that this fetcher does not know: DECORUM_AGENTS differs within the fleet',
      )
      return
    }
    const waitMs = order.notBefore - tools.ledger.now(tools.ledger.partitionOf(order.origin)) - GRANT_AHEAD_MS / 2
    if (waitMs > 0) await later(waitMs)
    if (tools.isStopping()) return await giveBack(order, tools, 'stopping')
    const entering = tools.pace.enter(agent, order.origin, order.gapMs)
    const clocks = entering instanceof Promise ? await entering : entering
    // A lane is begun a little ahead, a group is not: whoever comes before his turn would lose it.
    if ('waitMs' in clocks) return await giveBack(order, tools, 'paced', clocks.waitMs + GRANT_AHEAD_MS)
    const { fetchDeadlineMs, leaseMs } = tools
    const begun = await beginLease(tools.ledger, order, fetchDeadlineMs, leaseMs - fetchDeadlineMs, clocks.hostLane)
    if (begun.kind === 'refused') {
      if (begun.why === 'too-early') await giveBack(order, tools, begun.why)
      else stats.refused(begun.why)
      return await clocks.release()
    }
    clocks.begun(begun.clock)
    stats.begun++
    try {
      if (order.kind === 'robots') await robots(order, agent, begun.lease, clocks, tools)
      else await page(order, agent, begun.lease, clocks, tools)
    } finally {
      stats.ended++
    }
  } catch (error) {
    stats.broken++
    log.error({ err: error, origin: order.origin, kind: order.kind }, 'an order broke off; its lease ends by itself')
  }
}

/** A lane that was reserved for us and that we shall not begin: whoever is left takes it, at once or in so many ms. */
async function giveBack(
  { agent, origin, fence }: Order,
  { ledger, stats }: Tools,
  why: 'stopping' | 'paced' | 'too-early',
  waitMs?: number,
): Promise<void> {
  stats.refused(why)
  const partition = ledger.partitionOf(origin)
  const next: Resolution['next'] =
    waitMs === undefined
      ? { kind: 'release' }
      : { kind: 'defer', until: ledger.now(partition) + waitMs, why: 'pace-group' }
  await ledger.resolve(partition, [{ agent, origin, fence, dropped: [], next }]).catch(() => {}) // a reservation ends by itself, too
}

/** Nothing has left this machine: the lane goes back to its own clock, and the URL has not been tried. */
async function unused(order: Order, lease: Lease, endedAt: number, clocks: Clocks, tools: Tools): Promise<void> {
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
  const { mood, outcome, candidate, endedAt, tookMs, what, bytes } = result
  tools.stats.exchanged('page', what, bytes)
  if (what === 'not-sent') return await unused(order, lease, endedAt, clocks, tools)
  const gapMs = gapAfter(agent, order.gapMs, tookMs)
  const settlement: Settlement = { agent: key, origin, fence, gapMs, restedMs: 0, mood }
  if (outcome !== undefined) settlement.outcome = outcome
  if (outcome?.kind === 'fetched') tools.siteAnswers.heard(origin, outcome.status, outcome.at)
  if (candidate !== undefined) settlement.candidate = candidate
  crashPoint('settle.before')
  const left = clocks.leave({ endedAt, mood, gapMs }) // in the same call to the ledger where they share a partition
  await handBack(lease, endedAt, tools, (restedMs) => {
    settlement.restedMs = restedMs
    return tools.ledger.settle(settlement)
  })
  crashPoint('settle.after')
  if (left !== undefined) await left
}

async function robots(order: Order, agent: Agent, lease: Lease, clocks: Clocks, tools: Tools): Promise<void> {
  const { agent: key, origin, fence, gapMs } = order
  const { answer, lesson, state } = await learnRobots(order, agent, lease, {
    ledger: tools.ledger,
    enterHop: (...hop) => clocks.enterHop(...hop),
    astray: clocks.astray,
    restMs: clocks.restMs(),
    connections: tools.connections,
    agents: tools.agents,
    sink: tools.sink,
    siteAnswers: tools.siteAnswers,
    // rounded up: an answer is never dated before it came, or its retry would come too early
    now: () => Math.ceil(tools.ledger.now(tools.ledger.partitionOf(origin))) + 1,
    jitter: Math.random,
    onSinkError: (error) => tools.stats.sinkFailed(error, tools.log),
  })
  tools.stats.exchanged('robots', answer.what, answer.bytes)
  if (answer.notSent !== undefined) {
    await unused(order, lease, answer.endedAt, clocks, tools)
    return await closeQuestion(order, lease, answer.endedAt, state, tools)
  }
  const left = clocks.leave({ endedAt: answer.endedAt, gapMs: gapAfter(agent, gapMs, answer.tookMs) })
  if (lesson !== undefined) {
    crashPoint('learn.before')
    await handBack(lease, answer.endedAt, tools, (restedMs) => tools.ledger.learn({ ...lesson, restedMs }))
    crashPoint('learn.after')
    return await left
  }
  // The waiting head ends when the agent may not go there at all.
  const head: Omit<Settlement, 'restedMs'> = { agent: key, origin, fence, gapMs, mood: { kind: 'fine' } }
  if (answer.noContact === true) {
    const { id, meta } = order
    const said = { id, url: order.origin, agent: agent.name, at: Math.round(tools.ledger.now()), attempts: 0 }
    head.outcome = { ...said, kind: 'refused', reason: 'no-contact', ...(meta === undefined ? {} : { meta }) }
  }
  await handBack(lease, answer.endedAt, tools, (restedMs) => tools.ledger.settle({ ...head, restedMs }))
  await closeQuestion(order, lease, answer.endedAt, state, tools)
  await left
}

/** Nothing was heard: with the state as it was, so that the next asker need not wait for the end of this lease. */
async function closeQuestion(
  { agent, origin, fence, gapMs }: Order,
  lease: Lease,
  endedAt: number,
  state: RobotsState,
  tools: Tools,
): Promise<void> {
  await handBack(lease, endedAt, tools, () => {
    return tools.ledger.learn({ agent, origin, fence, forAsker: true, state, gaps: [], gapMs, restedMs: 0 })
  })
}

type Tell = (restedMs: number) => Promise<SettleResult>

/** Tells the ledger until it hears or the lease is over. Telling twice is safe: the fence makes the second one stale. */
function handBack(lease: Lease, endedAt: number, tools: Tools, tell: Tell): Promise<void> {
  return tell(Math.max(0, performance.now() - endedAt)).then(
    (told) => {
      if (told === 'stale') tools.stats.stale++
    },
    (error: unknown) => tellAgain(lease, endedAt, tools, tell, error),
  )
}

async function tellAgain(lease: Lease, endedAt: number, { stats }: Tools, tell: Tell, first: unknown): Promise<void> {
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
