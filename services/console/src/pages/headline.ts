/** The sentence at the top: is the fleet polite, or stalled? Pure; `test/console/unit` lists the cases. */
import { HEADROOM, isRead, type Member, type Reader, readerInTheWay } from '@decorum/ledger'
import type { Intake, PartitionView } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, printable } from '@decorum/protocol'
import type { FleetView } from '../watch/fleet-view.ts'
import { outcomesOf } from '../watch/recent.ts'
import { dueIn, LATE_MS, whyItWaits } from '../why.ts'
import { capital, length, some } from '../words.ts'
import type { Tone } from './parts.ts'

/** The kind of trouble in one word: for programs, and for the label of a metric. docs/operating.md explains each. */
export const TROUBLES = [
  'redis-away',
  'partitions-away',
  'stopped',
  'queue-paused',
  'nearly-full',
  'unread',
  'no-gateway',
  'no-fetcher',
  'not-taken-in',
  'crawl-waits',
  'stalled',
] as const
type Trouble = (typeof TROUBLES)[number]
export type Code = Trouble | 'held' | 'idle' | 'crawling' | 'polite'
export type Headline = { title: string; sentence: string } & (
  | { tone: 'trouble'; code: Trouble }
  | { tone: Exclude<Tone, 'trouble' | 'halted'>; code: Exclude<Code, Trouble> }
)

const NO_INTAKE: Intake = { jobs: 0, urls: 0, isEstimate: false, paused: [] }

/** Sums over partitions, as the page shows them. */
export function totalsOf(view: FleetView) {
  const { partitions, intake } = view.kind === 'seen' ? view : { partitions: [], intake: NO_INTAKE }
  const sum = (of: (part: PartitionView) => number): number => partitions.reduce((total, part) => total + of(part), 0)
  const opens = partitions.flatMap(({ nextDue, now }) => (nextDue === undefined ? [] : [nextDue - now]))
  const soonest = opens.length === 0 ? undefined : Math.min(...opens)
  return {
    waiting: sum((part) => part.waiting),
    /** URLs that wait for a gateway; an estimate if not every job was read */
    candidates: intake.urls,
    candidatesAreEstimated: intake.isEstimate,
    /** age of the oldest of their jobs, ms; undefined: there is none */
    candidatesForMs: intake.oldestMs,
    lanes: sum((part) => part.lanes),
    due: sum((part) => part.due),
    inFlight: sum((part) => part.inFlight),
    unread: sum((part) => part.unread),
    /** how late the oldest due lane is, ms; 0 when none is due */
    lagMs: Math.max(0, -(soonest ?? 0)),
    /** ms until the next lane is due; undefined when no lane waits */
    opensInMs: soonest && Math.max(0, soonest),
    heldForMs: Math.max(0, ...partitions.map((part) => (part.holdUntil ?? 0) - part.now)),
    outcomes: sum((part) => outcomesOf(part.counts)),
  }
}
export type Totals = ReturnType<typeof totalsOf>

const trouble = (code: Trouble, title: string, sentence: string): Headline => ({
  tone: 'trouble',
  code,
  title,
  sentence,
})

/**
 * The one judgement of the fleet: for the first page, for `decorum status`, `top` and `doctor`, and for the metric `decorum_trouble`, on
 * which the alerts are based. It depends only on the view.
 * @param outcomesLimit  unread outcomes at which dispatch pauses, per partition
 */
export function headline(view: FleetView, outcomesLimit: number): Headline {
  if (view.kind === 'unavailable')
    return trouble('redis-away', 'Redis does not answer', `Nothing new is sent until it does: ${view.why}.`)
  const { partitions, away, intake } = view
  if (away > 0) {
    const title = `${away} of ${away + partitions.length} partitions ${away === 1 ? 'does' : 'do'} not answer`
    const sentence =
      'A master of the cluster does not answer: nothing new is sent to its hosts until it does. The others continue.'
    return trouble('partitions-away', title, sentence)
  }
  const totals = totalsOf(view)
  const stop = partitions.find((part) => part.stopped !== undefined)?.stopped
  if (stop !== undefined) {
    const sentence = `An emergency stop is in force: ${stop}. Nothing is sent until it is lifted.`
    return trouble('stopped', 'Everything is stopped', sentence)
  }
  if (intake.paused.length > 0) return queuesPaused(intake.paused, totals)
  if (totals.heldForMs > 0) {
    const held = partitions.filter((part) => (part.holdUntil ?? 0) > part.now).length
    const [who, lanes] =
      held === partitions.length
        ? ['Redis was restarted', 'Every lane']
        : ['A master was restarted', `Every lane of its ${held} of ${partitions.length} partitions`]
    const sentence = `${who}. ${lanes} waits for another ${length(totals.heldForMs)}, so that no earlier request can overlap a new one.`
    return { tone: 'polite', code: 'held', title: 'Holding back', sentence }
  }
  return (
    nearlyFull(view, totals) ??
    unreadOutcomes(view, totals, outcomesLimit) ??
    stuck(view, totals, outcomesLimit) ??
    pace(view, totals)
  )
}

/** Little memory is left: intake waits until URLs leave. */
function nearlyFull({ memoryShare = 0 }: Seen, { unread }: Totals): Headline | undefined {
  if (memoryShare < HEADROOM.intake) return undefined
  const stored =
    unread > 0 &&
    `; ${some(unread, 'outcome of the default crawl is', 'outcomes of the default crawl are')} stored, and read ones leave`
  const sentence = `Redis uses ${Math.floor(memoryShare * 100)} % of its maxmemory. URLs are taken in below ${HEADROOM.intake * 100} %: stored ones leave as they are fetched${stored || ''}. Give Redis more memory, or enqueue less.`
  return trouble('nearly-full', 'Redis is nearly full', sentence)
}

/** Detects that there is no work, or that waiting work is not done. @returns undefined when the fleet works as it should */
function stuck(view: Seen, totals: Totals, outcomesLimit: number): Headline | undefined {
  const { waiting, inFlight, candidates, candidatesForMs = 0, due, lagMs } = totals
  if (waiting === 0 && inFlight === 0 && candidates === 0)
    return { tone: 'calm', code: 'idle', title: 'Nothing to do', sentence: 'No URL waits. Candidates are accepted.' }
  const urls = capital(waits(totals))
  const missing = missingRole(view.members)
  if (missing !== undefined) {
    const sentence = `${urls}, but no ${missing} has announced itself: start one with 'decorum ${missing}'.`
    return trouble(`no-${missing}`, `No ${missing} is running`, sentence)
  }
  if (candidates > 0 && candidatesForMs > STUCK_AFTER_MS && view.recent.takenIn === 0) {
    const sentence = `${urls}. The oldest candidate was added ${length(candidatesForMs)} ago, and no gateway takes any in.`
    return trouble('not-taken-in', 'No gateway accepts candidates', sentence)
  }
  const waiter = crawlsInTheWay(view, outcomesLimit)
  if (waiter !== undefined || lagMs <= LATE_MS || inFlight > 0) return waiter
  const sentence = `${some(due, 'lane')} could be visited, the oldest for ${length(lagMs)}, and nothing is in flight.`
  return trouble('stalled', 'Stalled', sentence)
}

function pace(view: Seen, totals: Totals): Headline {
  const { waiting, inFlight, candidates, lagMs, opensInMs } = totals
  const { perMinute } = view.recent
  const rate = perMinute === undefined ? '' : ` The pace is ${some(perMinute, 'outcome')} a minute.`
  if (inFlight > 0 || (perMinute ?? 0) > 0) {
    const late =
      lagMs > LATE_MS ? `The oldest due lane is ${length(lagMs)} late: more slots would help.` : 'No lane is late.'
    const sentence = `${some(inFlight, 'request')} in flight, ${waits(totals)}.${rate} ${late}`
    return { tone: 'moving', code: 'crawling', title: 'Crawling', sentence }
  }
  const nextLane = nextLaneOf(view)
  const next =
    opensInMs === undefined
      ? ''
      : nextLane?.isKnown === false
        ? ` The next lane: ${nextLane.what}.`
        : ` The next lane is due in ${length(opensInMs)}.`
  const own =
    waiting === 0 || nextLane?.isKnown === false
      ? ''
      : candidates === 0
        ? ', each until its lane is due'
        : '; those in lanes until their lane is due'
  const sentence = `${capital(waits(totals))}${own}.${next}${rate}`
  return { tone: 'polite', code: 'polite', title: 'Polite, not stalled', sentence }
}

function queuesPaused(paused: Intake['paused'], totals: Totals): Headline {
  const names = paused.map((name) => `'${name}'`).join(' and ')
  const [queue, is] = paused.length > 1 ? ['queues', 'are'] : ['queue', 'is']
  const stops = paused.includes('candidates') ? 'no candidate is taken in' : 'no order reaches a fetcher'
  const sentence = `Another tool has paused the ${queue} ${names} of BullMQ: ${stops}. ${capital(waits(totals))}. Resume there (queue.resume()); to stop a fleet there is 'decorum stop'.`
  return trouble('queue-paused', `The ${queue} ${names} ${is} paused`, sentence)
}

type Seen = Extract<FleetView, { kind: 'seen' }>

function unreadOutcomes({ readers, partitions }: Seen, totals: Totals, outcomesLimit: number): Headline | undefined {
  const unread = partitions.map((part) => part.unread)
  if (unread.every((n) => n < outcomesLimit)) return undefined
  const reader = readerInTheWay(readers, unread, outcomesLimit)
  const title =
    reader === undefined
      ? 'Nobody reads the outcomes'
      : isRead(reader)
        ? 'A reader is behind'
        : `Nobody reads as '${printable(reader.group)}' any more`
  return trouble('unread', title, pausedFor(reader, 'dispatch', totals.unread))
}

/** Detects that crawls other than the default one wait for readers of their outcomes; the other crawls continue. */
function crawlsInTheWay({ crawls, otherReaders }: Seen, outcomesLimit: number): Headline | undefined {
  const [first, ...others] = crawls.filter(
    ({ name, waiting, unreadInOne }) => name !== DEFAULT_CRAWL && waiting > 0 && unreadInOne >= outcomesLimit,
  )
  if (first === undefined) return undefined
  const name = `the crawl '${printable(first.name)}'`
  const reader = otherReaders.find(({ crawl, lag, pending }) => crawl === first.name && lag + pending > 0)
  const more = others.length > 0 ? ` So do ${some(others.length, 'other crawl')}.` : ''
  return trouble('crawl-waits', `${capital(name)} waits`, pausedFor(reader, name, first.unread) + more)
}

/** Names the reader that is waited for, and what to do. @param what  what has paused  @param unread  number of unread outcomes */
function pausedFor(reader: Reader | undefined, what: string, unread: number): string {
  if (reader === undefined)
    return `${some(unread, 'outcome lies', 'outcomes lie')} unread, and ${what} has paused: a consumer group must read and acknowledge them.`
  const { group, idleMs, oldest, lag, pending } = reader
  const name = `the reader '${printable(group)}'`
  const left = some(lag + pending, 'unread outcome')
  if (isRead(reader)) return `${capital(what)} has paused until ${name} has worked through ${left}.`
  const behind = oldest === undefined ? '' : ` and is ${length(oldest.ageMs)} behind`
  const silence = idleMs === undefined ? `has no consumer${behind}` : `was last seen ${length(idleMs)} ago`
  return `${capital(name)} ${silence}, and ${what} has paused because of ${left}. Start it again, or forget it: ${forgetCommand(reader)}.`
}

/** The command that forgets a reader, quoted for a shell. */
export function forgetCommand({ group, crawl }: Reader): string {
  const name = /^[\w.:-]+$/.test(group) ? group : `'${printable(group).replaceAll("'", "'\\''")}'`
  return `decorum outcomes --forget --group ${name}${crawl === DEFAULT_CRAWL ? '' : ` --crawl ${crawl}`}`
}

/**
 * The lane that is due next: when, and why it waits. `isKnown`: whether it will be due then; false: its gate opens after another event.
 * @returns undefined when no lane waits
 */
export function nextLaneOf({ lanes, partitions }: Pick<Seen, 'lanes' | 'partitions'>) {
  const next = lanes.find(({ lane }) => lane.state === 'waiting')
  const part = next && partitions[next.partition]
  if (next === undefined || part === undefined) return undefined
  const why = whyItWaits(next.lane, next.origin, part)
  const due = dueIn(next.lane, why, part.now)
  const what = why.state === 'delay' ? 'when its delay is over' : why.sentence
  const isKnown = why.until !== undefined || why.state === 'due' || why.state === 'late'
  return { due: isKnown && due !== 'now' ? `in ${due}` : due, what, isKnown }
}

/** If candidates have waited this long, ms, and none was stored meanwhile, the page says that no gateway takes any in. */
const STUCK_AFTER_MS = 10_000

function waits({ waiting, candidates, candidatesAreEstimated }: Totals): string {
  const inLanes = `${some(waiting, 'URL waits', 'URLs wait')} in lanes`
  const inQueue = `${candidatesAreEstimated ? 'about ' : ''}${some(candidates, 'URL')} in the queue of candidates`
  return candidates === 0 ? inLanes : waiting === 0 ? `${inQueue}, none in lanes` : `${inLanes}, ${inQueue}`
}

/** Processes announce themselves every second; a role without an announcement does no work. */
function missingRole(members: Member[]): 'gateway' | 'fetcher' | undefined {
  const roles = new Set(members.map((one) => one.role))
  if (!roles.has('fetcher')) return 'fetcher'
  return roles.has('gateway') ? undefined : 'gateway'
}
