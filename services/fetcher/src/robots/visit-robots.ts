/**
 * One robots.txt because a person asks for it (`decorum check`), outside of any order: guarded, bounded and named like
 * every request. With a ledger it is a visit of the fleet, in the turn of its lane and of every clock above it; without
 * one it keeps the agent's own delay between its hops, and knows of nobody else.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '@decorum/config'
import type { Entry, Ledger, OriginView } from '@decorum/ledger'
import { type Config, readConfig } from '../config.ts'
import { type LaneConnections, openConnections } from '../http/connections.ts'
import { openLookup } from '../http/lookup.ts'
import { robots } from '../orders/carry-out.ts'
import {
  type AskedAgain,
  type Confirm,
  confirming,
  HeldLease,
  type Lease,
  later,
  type Since,
  sinceNow,
} from '../orders/lease.ts'
import { type Clocks, openPace } from '../orders/pace.ts'
import { openStats } from '../process/stats.ts'
import { noSink } from '../sink/sink.ts'
import { fetchRobots, type RobotsAnswer } from './fetch-robots.ts'
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
  const restMs = agent.minDelayMs
  const confirm: Confirm = () => undefined // nobody gave a permit
  const lease = leaseOf(config, sinceNow(), { age: () => 0, confirm })
  const answer = await fetchRobots(origin, ROBOTS, agent, {}, lease, {
    connections,
    astray: () => undefined,
    acquireHop: async ({ deadlineMs }) => {
      if (restMs >= deadlineMs) return 'late'
      await later(restMs)
      return {
        fence: 0,
        shared: false,
        astray: () => undefined,
        confirm,
        leave: async () => {},
        release: async () => {},
      }
    },
    endRobotsFetch: async () => {},
    forbidsHop: async () => undefined, // no rules are known
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
  const { origin, agent, patienceMs } = visit
  const pace = openPace({ ledger, groups: config.paceGroups, addressOf: connections.addressOf })
  const until = performance.now() + patienceMs
  for (;;) {
    const known = await ledger.viewOrigin(origin, [agent.key])
    if (known.version !== before) return undefined
    const { question } = known.state
    const isAsked = question !== undefined && question.until > known.now
    const since = sinceNow()
    const turn = isAsked ? { waitMs: AGAIN_MS } : await acquire(visit, delayOf(known, agent), ledger, pace)
    if (!('waitMs' in turn)) return ask(visit, turn, since, ledger, config, connections)
    if (performance.now() + turn.waitMs > until) return undefined
    await sleep(turn.waitMs)
  }
}

/** The visit itself, and what the fleet learns by it. */
async function ask(
  { origin, agent }: RobotsVisit,
  { clocks, lane: { fence, delayMs } }: Turn,
  since: Since,
  ledger: Ledger,
  config: Config,
  connections: LaneConnections,
): Promise<RobotsAnswer> {
  const { agents } = config
  const fetch = { agent: agent.key, origin, path: ROBOTS, fence, delayMs, id: '', secondary: true as const }
  const permit = confirming(ledger, since, [[{ agent: agent.key, origin, fence }]])
  return await robots(fetch, agent, leaseOf(config, since, permit), clocks, {
    ledger,
    connections,
    agents,
    sink: noSink,
    siteAnswers: siteAnswers(agents),
    stats: openStats({ size: 1, used: () => 1, waiting: () => 0 }),
    log: { warn: () => {}, error: () => {} },
  })
}

/** The longest delay that is known of the lane: learned, or set by an operator. */
function delayOf({ delays, override }: OriginView, agent: Agent): number {
  const recorded = delays.find((delay) => delay.agent === agent.key)
  return Math.max(agent.minDelayMs, recorded?.delayMs ?? 0, override?.delayMs ?? 0)
}

type Turn = { clocks: Clocks; lane: { fence: number; delayMs: number } }

/** The origin's lane with all clocks above it, or how long to wait; what was entered before a shut one is given back. */
async function acquire(
  { origin, agent }: RobotsVisit,
  delayMs: number,
  ledger: Ledger,
  pace: ReturnType<typeof openPace>,
): Promise<Turn | { waitMs: number }> {
  const clocks = await pace.acquire(agent, origin, delayMs)
  if ('waitMs' in clocks) return clocks
  const own = { agent: agent.key, origin }
  const asked = { delayMs, of: own }
  if (clocks.hostLane !== undefined) {
    const host = await ledger.acquire({ ...asked, lanes: [clocks.hostLane], kind: 'clock' })
    if (host.kind !== 'granted') {
      await clocks.release()
      return notNow(host)
    }
    clocks.started(host)
  }
  const lane = await ledger.acquire({ ...asked, lanes: [own], kind: 'hop', isRobots: true })
  if (lane.kind === 'granted') return { clocks, lane }
  await clocks.release()
  return notNow(lane)
}

/** @throws OriginBlockedError when an operator has blocked the origin: no turn will come */
function notNow(entry: Exclude<Entry, { kind: 'granted' }>): { waitMs: number } {
  if (entry.kind === 'blocked') throw new OriginBlockedError()
  return entry
}

/** An operator has blocked the origin: nobody of this fleet visits it, for whatever reason. */
export class OriginBlockedError extends Error {
  override readonly name = 'OriginBlockedError'
  readonly code = 'ORIGIN_BLOCKED'
  constructor() {
    super('an operator has blocked this origin: it is not visited')
  }
}

function leaseOf({ FETCH_DEADLINE_MS, LEASE_MS }: Config, since: Since, permit: AskedAgain): Lease {
  return new HeldLease(since, permit, LEASE_MS, FETCH_DEADLINE_MS, LEASE_MS - FETCH_DEADLINE_MS)
}
