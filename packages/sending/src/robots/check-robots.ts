/**
 * Fetches one robots.txt for a person (`decorum check`), without an order. With a ledger it is a robots fetch of the fleet: it waits for
 * its lane and pace groups, and its answer is recorded. Without one, only this process keeps the delay between its hops.
 */

import type { Agent, Agents, EgressOf } from '@decorum/config'
import type { LaneRef } from '@decorum/ledger'
import type { PaceGroups } from '@decorum/politeness'
import type { AddressGuard } from '@decorum/politeness/admission'
import { systemClock } from '@decorum/protocol'

import { openConnections } from '../http/connections.ts'
import { openLookup } from '../http/lookup.ts'
import { type Durations, Lease } from '../leases/lease.ts'
import { byName, type Turn, type TurnTools, takeTurn } from '../leases/turn.ts'
import { untilOver } from '../report.ts'
import type { RobotsAnswer } from './ask-robots.ts'
import { type FetchTools, fetchRobots } from './fetch-robots.ts'
import { siteAnswers } from './site-answers.ts'

export type RobotsCheck = {
  origin: string
  agent: Agent
  settings: Durations & {
    agents: Agents
    paceGroups: PaceGroups
    guard: AddressGuard
    dnsServers: readonly string[]
    egress: EgressOf
  }
  /** the running fleet, and the version of the origin's rules that is known already; undefined: without a ledger */
  fleet: { ledger: FetchTools['ledger']; version: number } | undefined
  /** how long to wait for the lane, ms */
  patienceMs: number
}

/** @returns undefined when the lane was not due in time, or when the fleet has fetched the robots.txt meanwhile */
export async function checkRobots(check: RobotsCheck): Promise<RobotsAnswer | undefined> {
  const { agent, settings, fleet } = check
  const { agents, guard } = settings
  const ledger = fleet?.ledger ?? noFleet(settings.leaseMs)
  const { egress, dnsServers } = settings
  const { clock } = ledger
  const connections = openConnections({
    guard,
    clock,
    lookup: openLookup(clock, dnsServers),
    stops: ledger.stops,
    egress,
  })
  const tools: FetchTools = {
    ledger,
    agents,
    connections,
    groups: settings.paceGroups,
    addressOf: connections.addressOf,
    reporter: untilOver(clock, { unheard: 0, stale: 0 }),
    siteAnswers: siteAnswers(agents),
  }
  try {
    const turn = await turnOf(check, tools)
    if (turn === undefined) return undefined
    const lease = new Lease(agent, turn, settings, tools)
    const { answer, ...fetched } = await fetchRobots({ path: '/robots.txt', id: '' }, lease, tools)
    await Promise.all(answer.hops.map((hop) => hop.answer.body.discard()))
    await lease.end(fetched)
    return answer
  } finally {
    await connections.close()
  }
}

/** @throws OriginBlockedError · LedgerUnavailableError; nothing is held then */
async function turnOf({ origin, agent, fleet, patienceMs }: RobotsCheck, tools: TurnTools): Promise<Turn | undefined> {
  const by = { agent: `check:${agent.key}`, origin }
  const requested = { agent, origin, delayMs: agent.minDelayMs, by }
  const { clock } = tools.ledger
  const until = clock.monotonic() + patienceMs
  for (;;) {
    if (fleet !== undefined && (await versionOf(origin, fleet.ledger)) !== fleet.version) return undefined
    const turn = await takeTurn(requested, byName(requested, { isRobots: true }, tools), tools)
    if (turn.kind === 'held') return turn
    if (turn.kind === 'blocked') throw new OriginBlockedError()
    if (clock.monotonic() + turn.waitMs > until) return undefined
    await clock.sleep(turn.waitMs)
  }
}

async function versionOf(origin: string, ledger: FetchTools['ledger']): Promise<number | undefined> {
  const [known] = await ledger.robotsStates(ledger.partitionOf(origin), [origin])
  return known?.version
}

/** An operator has blocked the origin: this fleet sends nothing to it. */
export class OriginBlockedError extends Error {
  override readonly name = 'OriginBlockedError'
  readonly code = 'ORIGIN_BLOCKED'
  constructor() {
    super('an operator has blocked this origin: nothing is sent to it')
  }
}

/** A ledger for this process alone, which starts empty: each lane is free when its last delay is over. */
function noFleet(leaseMs: number): FetchTools['ledger'] {
  const clock = systemClock
  const dueAt = new Map<string, number>()
  const nameOf = ({ agent, origin }: LaneRef): string => `${agent} ${origin}`
  const completed = async () => 'completed' as const
  return {
    async acquire({ lanes: [lane], delayMs }) {
      if (lane === undefined) throw new Error('a lane is needed')
      const waitMs = (dueAt.get(nameOf(lane)) ?? 0) - clock.monotonic()
      return waitMs > 0
        ? { kind: 'wait', waitMs, gate: 'delay' }
        : { kind: 'granted', lane, fence: 1, delayMs, leaseMs }
    },
    next: async ({ delayMs, elapsedMs }) => ({
      kind: 'granted',
      waitMs: Math.max(0, delayMs - elapsedMs),
      turn: { at: '', endedAt: '' },
    }),
    async complete({ delayMs, elapsedMs, ...lane }) {
      dueAt.set(nameOf(lane), clock.monotonic() + delayMs - elapsedMs)
      return 'completed'
    },
    reportLate: () => undefined,
    confirm: async () => 'granted',
    resolve: async (_, resolutions) => resolutions.map(() => 'completed'),
    record: completed,
    endRobotsFetch: completed,
    robotsStates: async (_, origins) => origins.map(() => ({ version: 0, state: {} })),
    body: async () => undefined,
    partitionOf: () => 0,
    clock,
    now: clock.machine,
    wall: clock.machine,
    stops: { why: () => undefined, hasAddresses: () => false },
  }
}
