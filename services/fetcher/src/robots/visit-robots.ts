/**
 * One robots.txt for a person who asks for it (`decorum check`), without an order. With a ledger it is a robots fetch of the
 * fleet, which waits for its lane and pace groups. Without one it keeps the agent's own delay between its hops.
 */
import type { Agent } from '@decorum/config'
import type { AcquireAnswer, Ledger } from '@decorum/ledger'
import type { RobotsState } from '@decorum/robots'
import { pause, sinceNow } from '@decorum/runtime'
import { type Config, readConfig } from '../config.ts'
import { type LaneConnections, openConnections } from '../http/connections.ts'
import type { Confirm } from '../http/exchange.ts'
import { openLookup } from '../http/lookup.ts'
import { complete } from '../orders/complete.ts'
import { type Asked, type Confirmed, confirmedBy, heldLease, type Lease } from '../orders/lease.ts'
import { type HeldGroups, openPace, type Pace } from '../orders/pace.ts'
import { openStats } from '../process/stats.ts'
import { noSink } from '../sink/sink.ts'
import { askRobots, type RobotsAnswer } from './ask-robots.ts'
import { fetchRobots } from './fetch-robots.ts'
import { siteAnswers } from './site-answers.ts'

export type { RobotsAnswer } from './ask-robots.ts'

/** What a look at the origin has to say. */
export type OriginFacts = {
  version: number
  state: RobotsState
  delays: readonly { agent: string; delayMs: number }[]
  override?: { delayMs: number }
  now: number
}

export type RobotsVisit = {
  origin: string
  agent: Agent
  /** settings of a fetcher */
  env: Record<string, string | undefined>
  /** the running fleet, the version of the origin's rules that is known already, and a look at the origin; undefined: without a ledger */
  fleet: { ledger: Ledger; version: number; look: () => Promise<OriginFacts> } | undefined
  /** how long the lane is waited for, ms */
  patienceMs: number
}

const ROBOTS = '/robots.txt'
/** A robots fetch in flight is looked at again after this. */
const AGAIN_MS = 250

/** @returns undefined when the lane was not due in time, or when the fleet has fetched the robots.txt meanwhile */
export async function visitRobots(visit: RobotsVisit): Promise<RobotsAnswer | undefined> {
  const config = readConfig({ ...visit.env, REDIS_URL: visit.env.REDIS_URL || 'redis://127.0.0.1' }) // not connected to
  const connections = openConnections({
    guard: config.guard,
    lookup: openLookup(config.dnsServers),
    stops: visit.fleet?.ledger.stops,
  })
  try {
    return visit.fleet === undefined
      ? await alone(visit, config, connections)
      : await inFleet(visit, visit.fleet, config, connections)
  } finally {
    await connections.close()
  }
}

async function alone({ origin, agent }: RobotsVisit, config: Config, connections: LaneConnections) {
  const confirm: Confirm = () => undefined // there is no ledger to ask
  const now = sinceNow()
  const lease = leaseOf(config, { first: now, own: now }, { tooOld: () => undefined, confirm })
  const answer = await askRobots(origin, ROBOTS, agent, {}, lease, {
    connections,
    wrongAddress: () => undefined,
    acquireHop: async ({ deadlineMs }) => {
      if (agent.minDelayMs >= deadlineMs) return 'late'
      await pause(agent.minDelayMs)
      return {
        fence: 0,
        isShared: false,
        lastCheck: () => undefined,
        confirm,
        complete: async () => {},
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

async function inFleet(
  visit: RobotsVisit,
  { ledger, version: before, look }: NonNullable<RobotsVisit['fleet']>,
  config: Config,
  connections: LaneConnections,
) {
  const { agent, patienceMs } = visit
  const pace = openPace({ ledger, groups: config.paceGroups, addressOf: connections.addressOf })
  const until = performance.now() + patienceMs
  for (;;) {
    const known = await look()
    if (known.version !== before) return undefined
    const { question } = known.state
    const isInFlight = question !== undefined && question.until > known.now
    const acquired = isInFlight ? { waitMs: AGAIN_MS } : await acquire(visit, delayOf(known, agent), ledger, pace)
    if (!('waitMs' in acquired)) return fetchUnder(visit, acquired, ledger, config, connections)
    if (performance.now() + acquired.waitMs > until) return undefined
    await pause(acquired.waitMs)
  }
}

/** The robots fetch under the acquired lane. Its result is recorded for the fleet. */
async function fetchUnder(
  { origin, agent }: RobotsVisit,
  { groups, lane: { fence, delayMs }, asked }: AcquiredLane,
  ledger: Ledger,
  config: Config,
  connections: LaneConnections,
): Promise<RobotsAnswer> {
  const { agents } = config
  const order = {
    kind: 'robots',
    agent: agent.key,
    origin,
    path: ROBOTS,
    fence,
    delayMs,
    id: '',
    secondary: true,
  } as const
  const confirmed = confirmedBy(ledger, asked.first, () => [{ agent: agent.key, origin, fence }, ...groups.held()])
  const held = { lease: leaseOf(config, asked, confirmed), groups }
  const tools = {
    ledger,
    connections,
    agents,
    sink: noSink,
    siteAnswers: siteAnswers(agents),
    stats: openStats({ size: 1, taken: 1, waiting: 0 }),
    log: { warn: () => {}, error: () => {} },
  }
  const fetched = await fetchRobots(order, agent, held, tools)
  await complete(order, agent, held, fetched, tools)
  return fetched.answer
}

/** The longest delay that is known of the lane: from its rules, or set by an operator. */
function delayOf({ delays, override }: OriginFacts, agent: Agent): number {
  const recorded = delays.find((delay) => delay.agent === agent.key)
  return Math.max(agent.minDelayMs, recorded?.delayMs ?? 0, override?.delayMs ?? 0)
}

type AcquiredLane = { groups: HeldGroups; lane: { fence: number; delayMs: number }; asked: Asked }

/** The origin's lane with its pace groups, or how long to wait; then nothing is held, nor after an error. */
async function acquire(
  visit: RobotsVisit,
  delayMs: number,
  ledger: Ledger,
  pace: Pace,
): Promise<AcquiredLane | { waitMs: number }> {
  const first = sinceNow()
  const groups = await pace.acquire(visit.agent, visit.origin, delayMs)
  if ('waitMs' in groups) return groups
  try {
    const { lane, own } = await acquireLane(visit, delayMs, ledger, groups)
    if (lane.kind === 'granted') return { groups, lane, asked: { first, own } }
    await groups.release()
    return notNow(lane)
  } catch (error) {
    await groups.release()
    throw error
  }
}

/** The host's lane, where it is another one, and then the origin's own. @returns the first refusal; `own`: when the last was asked for */
async function acquireLane({ origin, agent }: RobotsVisit, delayMs: number, ledger: Ledger, groups: HeldGroups) {
  const of = { agent: agent.key, origin }
  const request = { delayMs, of }
  if (groups.hostLane !== undefined) {
    const own = sinceNow()
    const lane = await ledger.acquire({ ...request, lanes: [groups.hostLane], kind: 'pace-group' })
    if (lane.kind !== 'granted') return { lane, own }
    groups.started(lane)
  }
  const own = sinceNow()
  return { lane: await ledger.acquire({ ...request, lanes: [of], kind: 'hop', isRobots: true }), own }
}

/** @throws OriginBlockedError when an operator has blocked the origin: waiting would not help */
function notNow(entry: Exclude<AcquireAnswer, { kind: 'granted' }>): { waitMs: number } {
  if (entry.kind === 'blocked') throw new OriginBlockedError()
  return entry
}

/** An operator has blocked the origin: this fleet sends it nothing. */
export class OriginBlockedError extends Error {
  override readonly name = 'OriginBlockedError'
  readonly code = 'ORIGIN_BLOCKED'
  constructor() {
    super('an operator has blocked this origin: nothing is sent to it')
  }
}

const leaseOf = ({ FETCH_DEADLINE_MS, LEASE_MS }: Config, asked: Asked, confirmed: Confirmed): Lease =>
  heldLease(asked, confirmed, LEASE_MS, { fetchDeadlineMs: FETCH_DEADLINE_MS, leaseMs: LEASE_MS })
