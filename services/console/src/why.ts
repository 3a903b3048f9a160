/** Why a lane waits, in words. Pure: the ledger reports the closed gates, by the table of gates; nothing is decided here. */

import type { Note } from '@decorum/ledger'
import type { LaneView, OriginView, PartitionView } from '@decorum/ledger/views'
import { type Gate, type Instant, isForever } from '@decorum/protocol'
import type { LedgerGate } from '@decorum/protocol/gates'
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
  /** when the lane may continue without an operator; undefined when nothing holds it, or when only an operator can end the wait */
  until?: Instant
}

/** A lane that has been due for longer than this, ms, is late: a busy fleet alone does not explain such a wait for a slot. */
export const LATE_MS = 2_000

/**
 * The gate that opens last gives the state; the sentence names every gate that is closed.
 * @param part   the partition, for its clock and the reason for a complete stop
 * @param notes  notes of the origin, newest first, which contain the cause of a back-off; empty if they were not read
 */
export function whyItWaits(
  lane: LaneView,
  origin: OriginView,
  part: Pick<PartitionView, 'now' | 'stopped'>,
  notes: readonly Note[] = [],
): Why {
  const now = part.now
  if (lane.state === 'in-flight') return { state: 'in flight', sentence: `a request is in flight${tries(lane)}` }
  if (lane.state === 'reserved') return { state: 'in flight', sentence: 'its order is on its way to a fetcher' }
  const due = lane.due ?? now
  const closed: { gate: Gate | LedgerGate; until: Instant }[] = lane.closed.filter(({ until }) => until > now)
  const { heldBy } = lane
  if (lane.state !== 'idle' && heldBy !== undefined && due > now && !closed.some(({ gate }) => gate === heldBy))
    closed.push({ gate: heldBy, until: due })
  const [last] = closed
  if (last !== undefined) {
    const sentences = closed.map(({ gate }) => GATES[gate][1](origin, part.stopped, notes))
    return { state: GATES[last.gate][0], sentence: sentences.join('; and '), ...byItself(last) }
  }
  if (lane.state === 'idle' && due <= now) return { state: 'idle', sentence: 'no URL waits' }
  if (lane.state === 'idle')
    return { state: 'idle', sentence: 'no URL waits; a new one would wait for the rest of the delay', until: due }
  return due <= now ? isDue(now - due) : { ...delayed(lane, origin), until: due }
}

/** When a lane is due, in a word or two for a narrow column. */
export function dueIn(lane: { due?: Instant | undefined }, why: Why, now: Instant): string {
  if (why.state === 'in flight') return '–'
  if (why.until === undefined && BY_HAND.has(why.state)) return 'by hand'
  if (why.until === undefined && why.state === 'robots') return 'not known'
  const due = why.until ?? lane.due
  if (due === undefined || due <= now) return why.state === 'idle' ? '–' : 'now'
  return length(due - now)
}
const BY_HAND: ReadonlySet<WaitState> = new Set(['paused', 'blocked', 'stopped'])

/** Gates that open only after another event: their `until` is when they are checked again. */
const CHECKED_AGAIN: ReadonlySet<Gate | LedgerGate> = new Set(['crawl-held', 'robots-in-flight'])
const byItself = ({ gate, until }: { gate: Gate | LedgerGate; until: Instant }): { until?: Instant } =>
  isForever(until) || CHECKED_AGAIN.has(gate) ? {} : { until }

type Words = (origin: OriginView, allStopped: string | undefined, notes: readonly Note[]) => string

/** For each gate, the state of a lane that it holds, and the reason in words. */
const GATES: Record<Gate | LedgerGate, readonly [WaitState, Words]> = {
  'startup-hold': ['startup-hold', () => 'all is held: leases from before the restart of Redis may still be out'],
  stopped: ['stopped', (_, why) => `an emergency stop is in force${why === undefined ? '' : `: ${why}`}`],
  paused: ['paused', ({ paused }) => `paused by the operator${paused === undefined ? '' : `: ${paused.reason}`}`],
  'back-off': ['back-off', (origin, _, notes) => `backing off: the site ${causeOf(origin, notes)}`],
  'visiting-hours': ['visiting hours', ({ policy }) => waitsForHours(policy)],
  budget: ['budget', ({ policy }) => waitsForBudget(policy)],
  'crawl-held': ['paused', () => 'its crawl is paused, or nobody reads the outcomes of its crawl'],
  blocked: ['blocked', ({ blocked }) => `blocked by the operator: ${blocked?.reason ?? ''}; its URLs end as refused`],
  'robots-in-flight': ['robots', () => 'its robots.txt is being fetched'],
  'robots-unreachable': ['robots', () => 'waits: its robots.txt is unreachable, and will be fetched again'],
  'rules-changed': ['robots', () => 'its robots.txt has changed: the next URL is judged again'],
  refetch: ['robots', () => 'its robots.txt is fetched again first'],
  'lane-busy': ['delay', () => 'waits for its turn'],
  'pace-group': ['delay', () => 'waits for its turn in its pace group'],
  share: ['due', () => 'waits for a slot: its crawl or its domain has its share of them, and others need the rest'],
  pool: ['due', () => 'waits for a worker of its pool to ask for orders'],
  'unknown-agent': [
    'startup-hold',
    () => 'waits for a process that knows its agent: DECORUM_AGENTS differs within the fleet',
  ],
  egress: ['startup-hold', () => 'waits for egress: the proxy or the local address of its agent failed (EGRESS)'],
}

/** What the site did, for sentences that begin with it. */
export const BACK_OFF_CAUSES: Record<Extract<Note, { what: 'back-off' }>['cause'], string> = {
  'asked-for-less': 'asked for less (429 or 503)',
  'asked-to-wait': 'asked to wait (Retry-After)',
  'turned-away': 'turned requests away (403)',
  'no-answer': 'did not answer',
}

/** The cause of a back-off, in words. Failures count since the latest answer that asked for less; only a note shows their kind. */
function causeOf({ backOff, failures = 0 }: OriginView, notes: readonly Note[]): string {
  const note = notes.find((one) => one.what === 'back-off')
  const inARow = failures > 0 ? failures : (backOff?.incidents ?? 0)
  const times = inARow > 1 ? `, ${count(inARow)} times in a row` : ''
  if (note !== undefined) return BACK_OFF_CAUSES[note.cause] + (note.cause === 'asked-to-wait' ? '' : times)
  const causes = failures > 0 ? (['turned-away', 'no-answer'] as const) : (['asked-for-less'] as const)
  return causes.map((cause) => BACK_OFF_CAUSES[cause]).join(' or ') + times
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
  if (owed?.clampedFrom === undefined) return { state: 'delay', sentence: 'waits for its delay to end' }
  const clamped = `${length(owed.delayMs)} (the site's ${length(owed.clampedFrom * 1_000)}, clamped)`
  return { state: 'delay', sentence: `waits for its delay of ${clamped} to end` }
}

/** The state of an origin's robots.txt, in a word or two. */
export function robotsWord({ answer, copy, question }: RobotsState): string {
  if (answer === undefined) return question === undefined ? 'not fetched yet' : 'being fetched'
  if (RULES.has(answer.kind)) return 'rules'
  if (answer.kind === 'missing' || answer.kind === 'forbidden') return `none (${answer.status ?? answer.kind})`
  const cause = answer.status ?? answer.reason ?? answer.kind
  return copy === undefined ? `no answer (${cause})` : `old rules (now ${cause})`
}

const RULES: ReadonlySet<string> = new Set(['ok', 'success', 'partial'])
const tries = (lane: LaneView): string => (lane.tries > 0 ? `, try ${count(lane.tries + 1)}` : '')
