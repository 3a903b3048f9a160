/** Why a lane waits: the one gate that holds it, in words. Pure: reads what the ledger says, decides nothing. */

import type { LaneView, OriginView, PartitionView } from '@decorum/ledger-views'
import { type Gate, type Instant, isForever } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import { count, length, some } from './words.ts'

export const WAIT_STATES = [
  'in flight',
  'delay',
  'due',
  'late',
  'robots',
  'back-off',
  'paused',
  'stopped',
  'visiting hours',
  'budget',
  'blocked',
  'startup-hold',
  'idle',
] as const
export type WaitState = (typeof WAIT_STATES)[number]

export type Why = {
  /** what the lane is doing, in one word; only 'late' needs an operator to act */
  state: WaitState
  sentence: string
  /** when the lane may go on by itself; undefined when nothing holds it, or when only an operator can end it */
  until?: Instant
}

/** A lane that has been due for longer than this waits for a slot longer than a busy fleet explains, ms. */
export const LATE_MS = 2_000

/** @param part  of the partition its clock and its hold are read */
export function whyItWaits(
  lane: LaneView,
  origin: OriginView,
  part: Pick<PartitionView, 'now' | 'holdUntil' | 'stopped'>,
): Why {
  const now = part.now
  if (lane.state === 'in-flight') return { state: 'in flight', sentence: `a request is in flight${tries(lane)}` }
  if (lane.state === 'reserved') return { state: 'in flight', sentence: 'its order is on its way to a fetcher' }
  if (part.stopped !== undefined)
    return { state: 'stopped', sentence: `an emergency stop is in force: ${part.stopped}` }
  if (part.holdUntil !== undefined && part.holdUntil > now) {
    const sentence = 'all is held: leases from before the restart of Redis may still be out'
    return { state: 'startup-hold', sentence, until: part.holdUntil }
  }
  const { blocked, paused, backOff, failures = 0 } = origin
  if (blocked !== undefined) {
    const sentence = `blocked by the operator: ${blocked.reason}; its URLs end as refused`
    return { state: 'blocked', sentence, ...byItself(blocked.until) }
  }
  if (paused !== undefined) {
    return { state: 'paused', sentence: `paused by the operator: ${paused.reason}`, ...byItself(paused.until) }
  }
  if (backOff !== undefined) {
    const times = backOff.incidents > 1 ? `, ${count(backOff.incidents)} times in a row` : ''
    const sentence =
      failures > 1
        ? `backing off: ${count(failures)} requests were turned away (403) or got no answer`
        : `backing off: the site asked for less or did not answer${times}`
    return { state: 'back-off', sentence, until: backOff.until }
  }
  const due = lane.due ?? now
  if (lane.state === 'idle') {
    return due > now
      ? { state: 'idle', sentence: 'no URL waits; a new one would wait for the rest of the delay', until: due }
      : { state: 'idle', sentence: 'no URL waits' }
  }
  if (due <= now) return isDue(now - due)
  return { ...(lane.heldBy === undefined ? delayed(lane, origin) : held(lane.heldBy, origin)), until: due }
}

/** When a lane may be visited, in a word or two for a narrow column. */
export function opensIn(lane: LaneView, why: Why, now: Instant): string {
  if (why.state === 'in flight') return '–'
  if ((why.state === 'paused' || why.state === 'blocked') && why.until === undefined) return 'by hand'
  const opens = why.until ?? lane.due
  return opens === undefined || opens <= now ? 'now' : length(opens - now)
}

const byItself = (until: Instant): { until?: Instant } => (isForever(until) ? {} : { until })

function held(gate: Gate, { policy }: OriginView): Why {
  switch (gate) {
    case 'robots-unreachable':
      return { state: 'robots', sentence: 'waits: its robots.txt is unreachable, and will be asked for again' }
    case 'robots-in-flight':
      return { state: 'robots', sentence: 'its robots.txt is being fetched' }
    case 'back-off':
      return { state: 'back-off', sentence: 'backing off: the site asked for less or did not answer' }
    case 'paused':
      return { state: 'paused', sentence: 'paused by the operator' }
    case 'stopped':
      return { state: 'stopped', sentence: 'stopped by the operator: an emergency stop is in force' }
    case 'visiting-hours':
      return { state: 'visiting hours', sentence: waitsForHours(policy) }
    case 'budget':
      return { state: 'budget', sentence: waitsForBudget(policy) }
    case 'lane-busy':
      return { state: 'delay', sentence: 'waits for its turn' }
    case 'pace-group':
      return { state: 'delay', sentence: 'waits for its turn in its pace group' }
    case 'pool':
      return { state: 'due', sentence: 'waits for a worker of its pool to ask for orders' }
    case 'crawl-held':
      return { state: 'paused', sentence: 'its crawl is paused, or nobody reads the outcomes of its crawl' }
    case 'unknown-agent':
      return {
        state: 'startup-hold',
        sentence: 'waits for a process that knows its agent: DECORUM_AGENTS differs within the fleet',
      }
    case 'egress':
      return {
        state: 'startup-hold',
        sentence: 'waits for a way out: the proxy or the local address of its agent did not work (EGRESS)',
      }
    default:
      return { state: 'startup-hold', sentence: gate satisfies never }
  }
}

function waitsForHours(policy: OriginView['policy']): string {
  if (policy?.hours === undefined) return 'waits for the visiting hours of its robots.txt'
  return `waits for the visiting hours of the policy for ${policy.site}: ${policy.hours} UTC`
}
function waitsForBudget(policy: OriginView['policy']): string {
  const budget = policy?.requestsPerDay
  if (policy === undefined || budget === undefined) return 'waits for tomorrow (UTC): its requests for today were spent'
  return `waits for tomorrow (UTC): the policy for ${policy.site} has ${some(budget, 'request')} a day`
}

function isDue(lateMs: number): Why {
  if (lateMs > LATE_MS) return { state: 'late', sentence: `due for ${length(lateMs)}, and no fetcher took it` }
  return { state: 'due', sentence: 'goes out with the next free slot' }
}

function delayed(lane: LaneView, origin: OriginView): Why {
  const owed = origin.delays.find((delay) => delay.agent === lane.agent)
  const { policy } = origin
  if (policy?.delayMs !== undefined && (policy.consent !== undefined || policy.delayMs > (owed?.delayMs ?? 0))) {
    const consent = policy.consent === undefined ? '' : `, with consent: ${policy.consent}`
    const sentence = `waits for its delay of ${length(policy.delayMs)} to end (policy for ${policy.site}${consent})`
    return { state: 'delay', sentence }
  }
  if (owed === undefined) return { state: 'delay', sentence: 'waits for its delay to end' }
  const clamped = owed.clampedFrom === undefined ? '' : ` (the site's ${length(owed.clampedFrom * 1_000)}, clamped)`
  return { state: 'delay', sentence: `waits for its delay of ${length(owed.delayMs)}${clamped} to end` }
}

/** What is known of an origin's robots.txt, in a word or two. */
export function robotsWord({ answer, copy, question }: RobotsState): string {
  if (answer === undefined) return question === undefined ? 'not asked yet' : 'being asked'
  if (RULES.has(answer.kind)) return 'rules'
  if (answer.kind === 'missing' || answer.kind === 'forbidden') return `none (${answer.status ?? answer.kind})`
  const cause = answer.status ?? answer.reason ?? answer.kind
  return copy === undefined ? `no answer (${cause})` : `old rules (now ${cause})`
}

const RULES: ReadonlySet<string> = new Set(['ok', 'success', 'partial'])
const tries = (lane: LaneView): string => (lane.tries > 0 ? `, try ${count(lane.tries + 1)}` : '')
