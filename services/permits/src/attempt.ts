/** One try at a permit: judged by the rules in force, its robots.txt fetched first where it is not known, then granted or not. */
import type { Agent } from '@decorum/config'
import {
  type CrawlRecord,
  endingOf,
  type GrantAnswer,
  type LaneRef,
  type Ledger,
  type LedgerGateName,
  type Resolution,
} from '@decorum/ledger'
import type { PaceGroups } from '@decorum/politeness'
import { hostOf } from '@decorum/protocol'
import type { Judgement } from '@decorum/robots'
import { type Since, sinceNow } from '@decorum/runtime'
import type { Wish } from './admission.ts'
import type { Judged, Origins } from './origins.ts'
import type { PaceLease, Permit } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { RobotsOrders } from './robots-orders.ts'

export type Gate = LedgerGateName | 'crawl-delay' | 'robots-unreachable'
export type Wait = { kind: 'wait'; waitMs: number; gate: Gate; holder?: 'url' | 'permit'; detail?: string }
/** `since`: when the ledger was asked; its leases may have begun then. */
export type Granted = { kind: 'granted'; waitMs: number; permit: Omit<Permit, 'holder'>; since: Since }
export type Attempt = Granted | Wait | { kind: 'refused'; problem: Problem }

export type AttemptTools = {
  ledger: Ledger
  origins: Origins
  robots: RobotsOrders
  groups: PaceGroups
  /** where the crawler will most likely connect to, for pace groups of addresses */
  addressOf: (host: string) => Promise<string | undefined>
  /** fetchers that have announced themselves */
  fetchers: () => number
  /** of this process, in the queues of lanes */
  id: string
}

/** A stopped address is looked at again after so long; a caller gets an answer sooner. */
export const STOPPED_WAIT_MS = 2_000
/** A paused crawl is looked at again after so long. */
const HELD_WAIT_MS = 1_000
/** Rules may change while they are judged; a lane where they always do is asked for again. */
const MOST_TRIES = 4

export async function attempt(wish: Wish, leaseMs: number, tools: AttemptTools): Promise<Attempt> {
  const { origins, ledger } = tools
  const { agent, origin, path } = wish
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const judged = await origins.judge(agent, origin, path)
    const { judgement } = judged
    const dead = deadOrigin(judged, wish)
    if (judgement.kind === 'refused') return { kind: 'refused', problem: disallowed(judgement, wish) }
    if (judgement.kind === 'wait' && dead !== undefined) return { kind: 'refused', problem: dead }
    if (judgement.kind === 'wait') return waitFor(judgement, ledger.now(ledger.partitionOf(origin)))
    if (judgement.kind === 'allowed' && judged.closedMs > 0)
      return { kind: 'wait', waitMs: judged.closedMs, gate: 'visiting-hours' }
    const isDue = judgement.kind === 'ask' || (judgement.refresh && judged.state.question === undefined)
    if (isDue && (judgement.kind === 'ask' || tools.fetchers() > 0)) {
      const asked = await askFirst(wish, judged, tools)
      if (asked === 'rules-changed') continue
      return asked
    }
    const answer = await grant(wish, judged, leaseMs, tools)
    switch (answer.kind) {
      case 'rules-changed':
        origins.forget(origin)
        continue
      case 'refetch': {
        const asked = await askFirst(wish, judged, tools)
        if (asked === 'rules-changed') continue
        return asked
      }
      case 'blocked':
        return { kind: 'refused', problem: blocked(wish) }
      case 'crawl-held':
        return heldCrawl(wish, answer.record)
      default:
        return answer
    }
  }
  return { kind: 'wait', waitMs: 50, gate: 'robots-in-flight' }
}

async function askFirst(
  wish: Wish,
  { version, delayMs }: Judged,
  { robots, fetchers, groups, origins }: AttemptTools,
): Promise<Wait | { kind: 'refused'; problem: Problem } | 'rules-changed'> {
  const { agent, origin, crawl } = wish
  if (fetchers() === 0)
    return {
      kind: 'wait',
      waitMs: 1_000,
      gate: 'robots-in-flight',
      detail: 'no fetcher runs that could ask for robots.txt',
    }
  const paceLane = groups.hostLane(agent.key, origin)
  const lane = { agent: agent.key, origin, ...(paceLane && { paceLane }), ...(crawl !== undefined && { crawl }) }
  const asked = await robots.ask(lane, version, delayMs)
  origins.forget(origin)
  if (asked === 'rules-changed') return asked
  return asked === 'blocked' ? { kind: 'refused', problem: blocked(wish) } : { kind: 'wait', ...asked }
}

function waitFor(judgement: Extract<Judgement, { kind: 'wait' }>, now: number): Wait {
  if (judgement.why === 'robots-in-flight') return { kind: 'wait', waitMs: 40, gate: 'robots-in-flight' }
  return { kind: 'wait', waitMs: Math.max(1, judgement.until - now), gate: 'robots-unreachable' }
}

async function grant(
  { agent, origin, crawl }: Wish,
  { version, delayMs }: Judged,
  leaseMs: number,
  tools: AttemptTools,
): Promise<Exclude<GrantAnswer, { kind: 'granted' | 'wait' }> | Attempt> {
  const { ledger, groups, id, addressOf } = tools
  const { stops } = ledger
  // The ledger knows stopped hosts; which address a host is at is known here alone.
  if (stops.hasAddresses() && stops.why(origin, await addressOf(hostOf(origin))) !== undefined)
    return { kind: 'wait', waitMs: STOPPED_WAIT_MS, gate: 'stopped' }
  const since = sinceNow()
  const by = { agent: [id, agent.key, ...(crawl === undefined ? [] : [crawl])].join(':'), origin }
  const above = await acquireAbove(agent, origin, delayMs, by, tools)
  if ('waitMs' in above) return { kind: 'wait', waitMs: above.waitMs, gate: 'pace-group' }
  const paceLane = groups.hostLane(agent.key, origin)
  const ofCrawl = crawl === undefined ? {} : { crawl }
  const own = { agent: agent.key, origin, version, delayMs, leaseMs, by, ...ofCrawl }
  const answer = await ledger
    .grant(paceLane === undefined ? own : { ...own, paceLane })
    .catch(async (error: unknown) => {
      await release(ledger, above.paceLeases)
      throw error
    })
  if (answer.kind !== 'granted') {
    await release(ledger, above.paceLeases)
    if (answer.kind === 'wait' && answer.gate === 'delay' && delayMs > agent.minDelayMs)
      return { ...answer, gate: 'crawl-delay' }
    return answer
  }
  const host =
    paceLane === undefined || answer.paceLane === undefined ? [] : [{ ...paceLane, ...answer.paceLane, ofSite: true }]
  return {
    kind: 'granted',
    since,
    waitMs: answer.waitMs,
    permit: {
      agent: agent.key,
      origin,
      fence: answer.fence,
      delayMs: answer.delayMs,
      grantedAt: ledger.now(ledger.partitionOf(origin)),
      paceLeases: [...above.paceLeases, ...host],
    },
  }
}

/** A crawl that is paused goes on some day; one that was cancelled, or is over, does not. */
function heldCrawl(wish: Wish, record: CrawlRecord): Attempt {
  const ending = endingOf(record)
  if (ending === undefined)
    return { kind: 'wait', waitMs: HELD_WAIT_MS, gate: 'crawl-held', detail: `the crawl '${wish.crawl}' is paused` }
  const how = record.state === 'cancelled' ? 'was cancelled' : 'is over'
  return { kind: 'refused', problem: refused(wish, ending, `the crawl '${wish.crawl}' ${how}`) }
}

/** Pace groups beyond the host: all of them, or none and how long to wait. */
export async function acquireAbove(
  agent: Agent,
  origin: string,
  delayMs: number,
  by: LaneRef,
  { ledger, groups, addressOf }: Pick<AttemptTools, 'ledger' | 'groups' | 'addressOf'>,
): Promise<{ paceLeases: PaceLease[] } | { waitMs: number }> {
  if (groups.hostsAlone) return { paceLeases: [] }
  const address = groups.needsAddress ? await addressOf(hostOf(origin)) : undefined
  const paceLeases: PaceLease[] = []
  for (const { lanes, delayMs: own } of groups.above(agent.key, origin, address)) {
    const owed = own === undefined ? { delayMs, of: { agent: agent.key, origin } } : { delayMs: own }
    const entry = await ledger.acquire({ lanes, kind: 'pace-group', ...owed, by }).catch(async (error: unknown) => {
      await release(ledger, paceLeases)
      throw error
    })
    if (entry.kind !== 'granted') {
      await release(ledger, paceLeases)
      return { waitMs: entry.kind === 'wait' ? entry.waitMs : 1_000 }
    }
    paceLeases.push({ ...entry.lane, fence: entry.fence, delayMs: entry.delayMs, ofSite: false })
  }
  return { paceLeases }
}

type Lease = LaneRef & { fence: number }
/** `release`: it was not handed out. `unused`: its holder had it and reports that nothing was sent; the delay is kept in any case. */
export async function releaseLeases(
  ledger: Ledger,
  lanes: Lease[],
  kind: 'release' | 'unused',
): Promise<'completed' | 'stale'> {
  const groups = Map.groupBy(lanes, ({ origin }) => ledger.partitionOf(origin))
  const resolved = await Promise.all(
    [...groups].map(([partition, some]) =>
      ledger.resolve(
        partition,
        some.map(({ agent, origin, fence }): Resolution => ({ agent, origin, fence, dropped: [], next: { kind } })),
      ),
    ),
  )
  return resolved.flat().includes('stale') ? 'stale' : 'completed'
}
/** A lease that cannot be given back ends by itself. */
export const release = (ledger: Ledger, lanes: Lease[]): Promise<unknown> =>
  lanes.length === 0 ? Promise.resolve() : releaseLeases(ledger, lanes, 'release').catch(() => undefined)

export function disallowed({ rule, group }: Extract<Judgement, { kind: 'refused' }>, { url }: Wish): Problem {
  const written = `${rule.type}: ${rule.pattern}`
  return new Problem('disallowed', `line ${rule.line} of robots.txt says ${written}`, {
    url,
    rule: written,
    line: rule.line,
    group: [...group.agents],
  })
}

const blocked = (wish: Wish): Problem => refused(wish, 'blocked', 'an operator has blocked this origin')
const refused = ({ url }: Wish, reason: string, detail: string): Problem =>
  new Problem('refused', detail, { url, reason })

/** What a fetcher found when it requested robots.txt: an address or a port that this fleet does not visit. */
function deadOrigin({ state }: Judged, wish: Wish): Problem | undefined {
  const reason = state.answer?.reason
  if (reason === 'blocked-address')
    return refused(wish, 'guarded-address', 'the address of this origin is not one that is visited')
  if (reason === 'blocked-port')
    return refused(wish, 'guarded-port', 'the port of this origin is not one that is visited')
  return undefined
}
