/** One attempt to grant a turn: applies the rules in force (an unknown robots.txt is fetched first), then grants the turn or not. */

import { type CrawlRecord, endingOf, type GrantAnswer, type Ledger, type LedgerGateName } from '@decorum/ledger'
import { deadOrigin, disallowed, type SenderGate } from '@decorum/politeness/admission'
import type { FailureReason, RuleRef } from '@decorum/protocol'
import type { UnansweredReason } from '@decorum/robots'
import { defined, sinceNow } from '@decorum/runtime'
import { type Open, type Turn, type TurnTools, takeTurn } from '../index.ts'
import type { Wish } from './admission.ts'
import type { Judged, Origins } from './origins.ts'
import { Problem } from './problem.ts'
import type { RobotsOrders } from './robots-orders.ts'

/** Why a request has to wait. */
export type Gate = LedgerGateName | 'crawl-delay' | 'robots-unreachable'

export type Wait = { kind: 'wait'; waitMs: number; gate: Gate; holder?: 'url' | 'permit'; detail?: string }
export type Granted = { kind: 'granted'; turn: Turn }
/** A Problem means that the URL is never granted. */
export type Attempt = Granted | Wait | Problem

/** A stopped address is checked again after this time, which is shorter than for orders, because a caller waits. */
export const STOPPED_WAIT_MS = 2_000

/** Dependencies of an attempt. */
export type GrantingTools = TurnTools & {
  ledger: Ledger
  /** identifies this process in the queues of lanes */
  id: string
  origins: Origins
  robots: RobotsOrders
  /** number of fetchers that have announced themselves */
  fetchers: () => number
  /** returns the answer to a caller whose robots.txt could not be fetched for this reason; undefined, as by default: the caller waits */
  whyUnreachable?: (reason: UnansweredReason, wish: Wish) => Problem | undefined
  /** the ledger's time in the partition of the lane */
  now: (lane: { origin: string }) => number
}
/** A paused crawl is checked again after this time. */
const HELD_WAIT_MS = 1_000
/** A token at its limit of robots fetches tries again after this time. */
const FULL_WAIT_MS = 1_000
/** Rules may change while they are applied; after this many changes in a row the lane is tried again later. */
const MOST_TRIES = 4

export async function attempt(wish: Wish, leaseMs: number, tools: GrantingTools): Promise<Attempt> {
  const { origins } = tools
  const { agent, origin, path } = wish
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const judged = await origins.judge(agent, origin, path)
    const { judgement } = judged
    const dead = guarded(judged, wish)
    if (judgement.kind === 'refused') return forbidden(disallowed(judgement), wish.url)
    if (judgement.kind === 'wait' && dead !== undefined) return dead
    const unreachable = judgement.kind === 'wait' ? unreachableFor(judged, wish, tools) : undefined
    if (unreachable !== undefined) return unreachable
    if (judged.closed !== undefined) return waitFor(judged.closed, tools.now(wish))
    const isRefresh = judgement.kind === 'allowed' && judgement.refresh && judged.state.question === undefined
    if (judgement.kind !== 'ask' && !(isRefresh && tools.fetchers() > 0)) {
      const answer = await grant(wish, judged, leaseMs, tools)
      if (answer.kind === 'granted') origins.claim(origin, judged.state)
      if (answer.kind === 'granted' || answer.kind === 'wait') return answer
      if (answer.kind === 'blocked') return blocked(wish)
      if (answer.kind === 'crawl-held') return heldCrawl(wish, answer.record)
      if (answer.kind === 'rules-changed') {
        origins.forget(origin)
        continue
      }
    }
    const ordered = await requestRobots(wish, judged, tools)
    if (ordered !== 'rules-changed') return ordered
  }
  return { kind: 'wait', waitMs: 50, gate: 'robots-in-flight' }
}

/** Orders a robots fetch of the fleet, in the lane of the request. @returns how long to wait, or a Problem; 'rules-changed': try again */
export async function requestRobots(
  wish: Wish,
  { version, delayMs }: Judged,
  { robots, fetchers, groups, origins }: GrantingTools,
): Promise<Attempt | 'rules-changed'> {
  const { agent, by, origin, crawl } = wish
  if (fetchers() === 0)
    return {
      kind: 'wait',
      waitMs: 1_000,
      gate: 'robots-in-flight',
      detail: 'no fetcher runs that could ask for robots.txt',
    }
  const paceLane = groups.hostLane(agent.key, origin)
  const lane = { agent: agent.key, origin, ...defined({ paceLane, crawl }) }
  const ordered = await robots.orderFetch({ ...lane, isUnclaimed: !origins.isClaimed(origin) }, by, version, delayMs)
  origins.forget(origin)
  if (ordered === 'rules-changed') return ordered
  if (ordered === 'blocked') return blocked(wish)
  if ('why' in ordered) return { kind: 'wait', waitMs: FULL_WAIT_MS, gate: 'robots-in-flight', detail: ordered.why }
  return 'kind' in ordered ? heldCrawl(wish, ordered.record) : { kind: 'wait', ...ordered }
}

/** The answer to a caller when the robots.txt of its origin is unreachable; undefined: it is not, or the caller waits. */
export function unreachableFor(
  { judgement, state: { answer } }: Judged,
  wish: Wish,
  { whyUnreachable }: Pick<GrantingTools, 'whyUnreachable'>,
): Problem | undefined {
  const isOver = judgement.kind === 'wait' && judgement.why === 'unreachable'
  return isOver && answer?.reason !== undefined ? whyUnreachable?.(answer.reason, wish) : undefined
}

/** The wait for a closed gate. A robots fetch in flight usually ends long before its lease, so its wait is short. */
function waitFor({ gate, until }: SenderGate, now: number): Wait {
  return { kind: 'wait', waitMs: gate === 'robots-in-flight' ? 40 : Math.max(1, until - now), gate }
}

async function grant(
  { agent, origin, crawl }: Wish,
  { version, delayMs }: Judged,
  leaseMs: number,
  tools: GrantingTools,
): Promise<Exclude<GrantAnswer, { kind: 'granted' | 'wait' }> | Granted | Wait> {
  const { ledger, id } = tools
  const lane = { agent: agent.key, origin }
  const by = { agent: [id, agent.key, crawl].filter(Boolean).join(':'), origin }
  const ordered = { ...lane, version, delayMs, leaseMs, by, ...defined({ crawl }) }
  const open: Open<Exclude<GrantAnswer, { kind: 'granted' }>> = async (paceLane) => {
    const since = sinceNow(ledger.clock)
    const answer = await ledger.grant({ ...ordered, ...defined({ paceLane }) })
    if (answer.kind !== 'granted') return answer
    const own = { ...lane, fence: answer.fence, delayMs: answer.delayMs, kind: 'secondary' as const }
    return { kind: answer.kind, own, host: answer.paceLane, since, leaseMs, waitMs: answer.waitMs }
  }
  const turn = await takeTurn({ agent, origin, delayMs, by }, open, tools)
  if (turn.kind === 'later') {
    const waitMs = turn.gate === 'stopped' ? STOPPED_WAIT_MS : turn.waitMs
    return { kind: 'wait', waitMs, gate: turn.gate }
  }
  if (turn.kind === 'wait' && turn.gate === 'delay' && delayMs > agent.minDelayMs)
    return { ...turn, gate: 'crawl-delay' }
  if (turn.kind !== 'held') return turn
  return { kind: 'granted', turn }
}

/** A paused crawl will resume some day; a cancelled or finished one will not. */
function heldCrawl(wish: Wish, record: CrawlRecord): Attempt {
  const ending = endingOf(record)
  if (ending === undefined)
    return { kind: 'wait', waitMs: HELD_WAIT_MS, gate: 'crawl-held', detail: `the crawl '${wish.crawl}' is paused` }
  const how = record.state === 'cancelled' ? 'was cancelled' : 'is over'
  return refused(wish, ending, `the crawl '${wish.crawl}' ${how}`)
}

/** Why a granted request is not sent, or undefined: this process may have newer rules than those of the grant. */
export async function closedSince(
  { agent, origin, path, url }: Wish,
  { origins }: Pick<GrantingTools, 'origins'>,
): Promise<Gate | Problem | undefined> {
  const { judgement, closed } = await origins.judge(agent, origin, path)
  if (judgement.kind === 'refused') return forbidden(disallowed(judgement), url)
  return judgement.kind === 'ask' ? 'robots-unreachable' : closed?.gate
}

export const forbidden = ({ rule, line, group }: RuleRef, url: string): Problem =>
  new Problem('disallowed', `line ${line} of robots.txt says ${rule}`, { url, rule, line, group })

const blocked = (wish: Wish): Problem => refused(wish, 'blocked', 'an operator has blocked this origin')
const refused = ({ url }: Wish, reason: string, detail: string): Problem =>
  new Problem('refused', detail, { url, reason })

/** Failures after which a host name that does not exist ends an origin: never for a permit, because the caller may resolve it. */
const NO_END = Number.POSITIVE_INFINITY
const GUARDED: Partial<Record<FailureReason, string>> = {
  'blocked-address': 'guarded-address',
  'blocked-port': 'guarded-port',
}
function guarded({ state }: Judged, wish: Wish): Problem | undefined {
  const dead = deadOrigin(state, NO_END)
  const reason = dead && GUARDED[dead.reason]
  return reason === undefined ? undefined : refused(wish, reason, dead?.detail ?? '')
}
