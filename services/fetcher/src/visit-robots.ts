/**
 * One robots.txt because a person asks for it (`decorum check`), outside of any order: guarded, bounded and named like
 * every request. With a ledger it is a visit of the fleet, in the turn of its lane and of every clock above it; without
 * one it keeps the agent's own delay between its hops, and knows of nobody else.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { gapAfter, type LaneRef, type Ledger } from '@decorum/ledger'
import type { Agent } from '@decorum/protocol'
import { type Config, readConfig } from './config.ts'
import { type LaneConnections, openConnections } from './connections.ts'
import { fetchRobots, type RobotsAnswer } from './fetch-robots.ts'
import { learnRobots } from './learn-robots.ts'
import { type Lease, later } from './lease.ts'
import { SEND_WINDOW_MS } from './limits.ts'
import { openLookup } from './lookup.ts'
import { type Clocks, openPace } from './pace.ts'
import { noSink } from './sink.ts'
import { siteAnswers } from './site-answers.ts'

export type { RobotsAnswer } from './fetch-robots.ts'

export type RobotsVisit = {
  origin: string
  agent: Agent
  /** settings of a fetcher */
  env: Record<string, string | undefined>
  /** of the fleet that runs, and the version of the origin's rules by which it has to be asked; undefined: nobody is asked */
  fleet: { ledger: Ledger; version: number } | undefined
  /** how long the lane's turn is waited for, ms */
  patienceMs: number
}

const ROBOTS = '/robots.txt'
/** A robots.txt that somebody else asks for is looked at again after this. */
const AGAIN_MS = 250

/** @returns undefined when the lane's turn did not come in time, or when the fleet has asked meanwhile */
export async function visitRobots(visit: RobotsVisit): Promise<RobotsAnswer | undefined> {
  const config = readConfig({ ...visit.env, REDIS_URL: visit.env.REDIS_URL || 'redis://127.0.0.1' }) // no connection is made by it
  const connections = openConnections({ guard: config.guard, lookup: openLookup(config.dnsServers) })
  try {
    return visit.fleet === undefined
      ? await alone(visit, config, connections)
      : await ofFleet(visit, visit.fleet, config, connections)
  } finally {
    await connections.close()
  }
}

async function alone({ origin, agent }: RobotsVisit, config: Config, connections: LaneConnections) {
  const restMs = agent.minGapMs
  const answer = await fetchRobots(origin, ROBOTS, agent, {}, leaseOf(config), {
    connections,
    restMs,
    astray: () => undefined,
    enterHop: async (_origin, deadlineMs) => {
      if (restMs >= deadlineMs) return undefined
      await later(restMs)
      return { shared: false, astray: () => undefined, leave: async () => {} }
    },
    now: Date.now,
    jitter: () => 0,
  })
  await Promise.all(answer.hops.map((hop) => hop.answer.body.discard()))
  return answer
}

async function ofFleet(
  visit: RobotsVisit,
  { ledger, version: before }: { ledger: Ledger; version: number },
  config: Config,
  connections: LaneConnections,
) {
  const { origin, patienceMs } = visit
  const pace = openPace({ ledger, groups: config.paceGroups, addressOf: connections.addressOf })
  const until = performance.now() + patienceMs
  for (;;) {
    const { state, version, now } = await ledger.viewOrigin(origin, [])
    if (version !== before) return undefined
    const isAsked = state.question !== undefined && state.question.until > now
    const turn = isAsked ? { waitMs: AGAIN_MS } : await enter(visit, ledger, pace)
    if (!('waitMs' in turn)) return ask(visit, turn, ledger, config, connections)
    if (performance.now() + turn.waitMs > until) return undefined
    await sleep(turn.waitMs)
  }
}

/** The visit itself, and what the fleet learns by it. */
async function ask(
  { origin, agent }: RobotsVisit,
  { clocks, lane: { fence, gapMs } }: Turn,
  ledger: Ledger,
  config: Config,
  connections: LaneConnections,
): Promise<RobotsAnswer> {
  const order = { agent: agent.key, origin, path: ROBOTS, fence, gapMs }
  const { answer, lesson, state } = await learnRobots(order, agent, leaseOf(config), {
    ledger,
    connections,
    agents: config.agents,
    sink: noSink,
    siteAnswers: siteAnswers(config.agents),
    enterHop: (...hop) => clocks.enterHop(...hop),
    astray: clocks.astray,
    restMs: clocks.restMs(),
    now: () => Math.ceil(ledger.now(ledger.partitionOf(origin))) + 1,
    jitter: Math.random,
    onSinkError: () => undefined,
  })
  const owedMs = gapAfter(agent, gapMs, answer.tookMs)
  const restedMs = Math.max(0, performance.now() - answer.endedAt)
  // Nothing was heard: the state stays as it was, and the question is closed for the next one who asks.
  const told = lesson ?? { agent: agent.key, origin, fence, state, gaps: [], gapMs: owedMs }
  await Promise.all([ledger.learn({ ...told, restedMs }), clocks.leave({ endedAt: answer.endedAt, gapMs: owedMs })])
  return answer
}

type Turn = { clocks: Clocks; lane: { fence: number; gapMs: number } }

/** The origin's lane with all clocks above it, or how long to wait; what was entered before a shut one is given back. */
async function enter(
  { origin, agent }: RobotsVisit,
  ledger: Ledger,
  pace: ReturnType<typeof openPace>,
): Promise<Turn | { waitMs: number }> {
  const clocks = await pace.enter(agent, origin, agent.minGapMs)
  if ('waitMs' in clocks) return clocks
  const take = (lane: LaneRef, kind: 'robots' | 'clock') => ledger.enter({ lanes: [lane], gapMs: agent.minGapMs, kind })
  if (clocks.hostLane !== undefined) {
    const host = await take(clocks.hostLane, 'clock')
    if (host.kind === 'wait') {
      await clocks.release()
      return host
    }
    clocks.begun(host)
  }
  const lane = await take({ agent: agent.key, origin }, 'robots')
  if (lane.kind === 'granted') return { clocks, lane }
  await clocks.release()
  return lane
}

function leaseOf({ FETCH_DEADLINE_MS, LEASE_MS }: Config): Lease {
  const since = performance.now()
  const age = (): number => performance.now() - since
  const deadlineMs = (): number => FETCH_DEADLINE_MS - age()
  const stillHeld = (): string | undefined => (deadlineMs() <= 0 ? 'the deadline is over' : undefined)
  const lastCheck = (): string | undefined =>
    age() > SEND_WINDOW_MS ? `the permit is older than ${SEND_WINDOW_MS} ms` : stillHeld()
  return { deadlineMs, lastCheck, stillHeld, age, leaseMs: LEASE_MS }
}
