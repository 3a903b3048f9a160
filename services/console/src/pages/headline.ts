/** The sentence at the top: is the fleet polite, or stalled? Pure; `test/console/unit` lists the cases. */
import { HEADROOM, isRead, type Member, type Reader, readerInTheWay } from '@decorum/ledger'
import type { Intake, PartitionView, QueueName } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, OUTCOME_KINDS, printable } from '@decorum/protocol'
import type { Look } from '../watch/looks.ts'
import { dueIn, LATE_MS, whyItWaits } from '../why.ts'
import { length, some } from '../words.ts'

/** 'calm': nothing to do · 'moving': pages are fetched · 'polite': all waiting is owed · 'trouble': an operator should act */
export type Tone = 'calm' | 'moving' | 'polite' | 'trouble'
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
  | { tone: Exclude<Tone, 'trouble'>; code: Exclude<Code, Trouble> }
)

/** Sums over partitions, as the page shows them. */
export type Totals = {
  waiting: number
  /** URLs that wait for a gateway; an estimate if not every job was read */
  candidates: number
  candidatesAreEstimated: boolean
  /** age of the oldest of their jobs, ms; undefined: there is none */
  candidatesForMs: number | undefined
  lanes: number
  due: number
  inFlight: number
  unread: number
  /** how late the oldest due lane is, ms; 0 when none is due */
  lagMs: number
  /** ms until the next lane is due; undefined when no lane waits */
  opensInMs: number | undefined
  heldForMs: number
  outcomes: number
}

const NO_INTAKE: Intake = { jobs: 0, urls: 0, isEstimate: false, paused: [] }

export function totalsOf(
  partitions: PartitionView[],
  outcomeKinds: readonly string[],
  intake: Intake = NO_INTAKE,
): Totals {
  const sum = (of: (part: PartitionView) => number): number => partitions.reduce((total, part) => total + of(part), 0)
  const opens = partitions.flatMap((part) => (part.nextDue === undefined ? [] : [part.nextDue - part.now]))
  const soonest = opens.length === 0 ? undefined : Math.min(...opens)
  return {
    waiting: sum((part) => part.waiting),
    candidates: intake.urls,
    candidatesAreEstimated: intake.isEstimate,
    candidatesForMs: intake.oldestMs,
    lanes: sum((part) => part.lanes),
    due: sum((part) => part.due),
    inFlight: sum((part) => part.inFlight),
    unread: sum((part) => part.unread),
    lagMs: soonest === undefined ? 0 : Math.max(0, -soonest),
    opensInMs: soonest === undefined ? undefined : Math.max(0, soonest),
    heldForMs: Math.max(0, ...partitions.map((part) => (part.holdUntil ?? 0) - part.now)),
    outcomes: sum((part) => outcomeKinds.reduce((n, kind) => n + (part.counts[kind] ?? 0), 0)),
  }
}

/** Judges a view of the fleet, using its sums. */
export const headlineOf = (look: Look, outcomesLimit: number): Headline =>
  headline(
    look,
    look.kind === 'seen' ? totalsOf(look.partitions, OUTCOME_KINDS, look.intake) : totalsOf([], OUTCOME_KINDS),
    outcomesLimit,
  )

/** Little memory is left: intake waits until URLs leave. */
function nearlyFull(share: number, totals: Totals): Headline {
  const unread =
    totals.unread === 0
      ? ''
      : `; ${some(totals.unread, 'outcome')} of the default crawl ${totals.unread === 1 ? 'is' : 'are'} stored, and read ones leave`
  const sentence = `Redis uses ${Math.floor(share * 100)} % of its maxmemory. URLs are taken in below ${HEADROOM.intake * 100} %: stored ones leave as they are fetched${unread}. Give Redis more memory, or enqueue less.`
  return { tone: 'trouble', code: 'nearly-full', title: 'Redis is nearly full', sentence }
}

/**
 * The one judgement of the fleet: for the first page, for `decorum status`, `top` and `doctor`, and for the metric `decorum_trouble`, on
 * which the alerts are based. It depends only on the view.
 * @param outcomesLimit  unread outcomes at which dispatch pauses, per partition
 */
export function headline(look: Look, totals: Totals, outcomesLimit: number): Headline {
  if (look.kind === 'blind') {
    return {
      tone: 'trouble',
      code: 'redis-away',
      title: 'Redis does not answer',
      sentence: `Nothing new is sent until it does: ${look.why}.`,
    }
  }
  if (look.away > 0) {
    return {
      tone: 'trouble',
      code: 'partitions-away',
      title: `${look.away} of ${look.away + look.partitions.length} partitions ${look.away === 1 ? 'does' : 'do'} not answer`,
      sentence: 'A master of the cluster is away: nothing new is sent to its hosts until it is back. The others go on.',
    }
  }
  const { perMinute: pagesPerMinute, takenIn } = look.recent
  const stop = look.partitions.find((part) => part.stopped !== undefined)?.stopped
  if (stop !== undefined) {
    const sentence = `An emergency stop is in force: ${stop}. Nothing is sent until it is lifted.`
    return { tone: 'trouble', code: 'stopped', title: 'Everything is stopped', sentence }
  }
  if (look.intake.paused.length > 0) return pausedHeadline(look.intake.paused, totals)
  if (totals.heldForMs > 0) {
    const held = look.partitions.filter((part) => (part.holdUntil ?? 0) > part.now).length
    const all = look.partitions.length
    const [who, lanes] =
      held === all
        ? ['Redis was restarted', 'Every lane']
        : ['A master was restarted', `Every lane of its ${held} of ${all} partitions`]
    const sentence = `${who}. ${lanes} waits for another ${length(totals.heldForMs)}, so that no earlier request can overlap a new one.`
    return { tone: 'polite', code: 'held', title: 'Holding back', sentence }
  }
  if ((look.memoryShare ?? 0) >= HEADROOM.intake) return nearlyFull(look.memoryShare ?? 0, totals)
  if (look.partitions.some((part) => part.unread >= outcomesLimit)) return unreadHeadline(look, totals, outcomesLimit)
  if (totals.waiting === 0 && totals.inFlight === 0 && totals.candidates === 0) {
    return { tone: 'calm', code: 'idle', title: 'Nothing to do', sentence: 'No URL waits. Candidates are accepted.' }
  }
  const missing = missingRole(look.members)
  if (missing !== undefined) {
    const sentence = `${waits(totals)}, but no ${missing} has been heard of: start one with 'decorum ${missing}'.`
    return { tone: 'trouble', code: `no-${missing}`, title: `No ${missing} is running`, sentence }
  }
  if (isIntakeStuck(totals, takenIn)) {
    const since = length(totals.candidatesForMs ?? 0)
    const sentence = `${waits(totals)}. The oldest candidate was added ${since} ago, and no gateway takes any in.`
    return { tone: 'trouble', code: 'not-taken-in', title: 'Nothing is taken in', sentence }
  }
  const waiting = crawlsInTheWay(look, outcomesLimit)
  if (waiting !== undefined) return waiting
  if (totals.lagMs > LATE_MS && totals.inFlight === 0) {
    const sentence = `${some(totals.due, 'lane')} could be visited, the oldest for ${length(totals.lagMs)}, and nothing is in flight.`
    return { tone: 'trouble', code: 'stalled', title: 'Stalled', sentence }
  }
  const rate = pagesPerMinute === undefined ? '' : ` The pace is ${some(pagesPerMinute, 'outcome')} a minute.`
  const behind =
    totals.lagMs > LATE_MS
      ? ` The oldest due lane is ${length(totals.lagMs)} late: more slots would help.`
      : ' No lane is late.'
  if (totals.inFlight > 0 || (pagesPerMinute ?? 0) > 0) {
    const flying = `${some(totals.inFlight, 'request')} in flight, ${waits(totals, false)}.`
    return { tone: 'moving', code: 'crawling', title: 'Crawling', sentence: `${flying}${rate}${behind}` }
  }
  const nextLane = nextLaneOf(look)
  const next =
    totals.opensInMs === undefined
      ? ''
      : nextLane === undefined || nextLane.isKnown
        ? ` The next lane is due in ${length(totals.opensInMs)}.`
        : ` The next lane: ${nextLane.what}.`
  const own =
    totals.waiting === 0
      ? ''
      : totals.candidates === 0
        ? ', each until its lane is due'
        : '; those in lanes until their lane is due'
  const sentence = `${waits(totals)}${own}.${next}${rate}`
  return { tone: 'polite', code: 'polite', title: 'Polite, not stalled', sentence }
}

function pausedHeadline(paused: QueueName[], totals: Totals): Headline {
  const names = paused.map((name) => `'${name}'`).join(' and ')
  const [queue, is] = paused.length > 1 ? ['queues', 'are'] : ['queue', 'is']
  const stops = paused.includes('candidates') ? 'no candidate is taken in' : 'no order reaches a fetcher'
  const sentence = `Another tool has paused the ${queue} ${names} of BullMQ: ${stops}. ${waits(totals)}. Resume there (queue.resume()); to stop a fleet there is 'decorum stop'.`
  return { tone: 'trouble', code: 'queue-paused', title: `The ${queue} ${names} ${is} paused`, sentence }
}

type Seen = Extract<Look, { kind: 'seen' }>

function unreadHeadline({ readers, partitions }: Seen, totals: Totals, outcomesLimit: number): Headline {
  const unread = partitions.map((part) => part.unread)
  const reader = readerInTheWay(readers, unread, outcomesLimit)
  if (reader === undefined) {
    const sentence = `${some(totals.unread, 'outcome')} lie unread and dispatch has paused: a consumer group must read and acknowledge them.`
    return { tone: 'trouble', code: 'unread', title: 'Nobody reads the outcomes', sentence }
  }
  const group = printable(reader.group)
  const left = `${some(reader.lag + reader.pending, 'outcome')} that it has not acknowledged`
  if (isRead(reader)) {
    const sentence = `Dispatch has paused until the reader '${group}' has worked through ${left}.`
    return { tone: 'trouble', code: 'unread', title: 'A reader is behind', sentence }
  }
  const sentence = `${silence(reader)}, and dispatch has paused because of ${left}. Start it again, or forget it: ${forgetCommand(reader)}.`
  return { tone: 'trouble', code: 'unread', title: `Nobody reads as '${group}' any more`, sentence }
}

/** Only another crawl than the default one waits: the others continue. */
function crawlsInTheWay({ crawls, otherReaders }: Seen, outcomesLimit: number): Headline | undefined {
  const full = crawls.filter(
    ({ name, waiting, unreadInOne }) => name !== DEFAULT_CRAWL && waiting > 0 && unreadInOne >= outcomesLimit,
  )
  const [first] = full
  if (first === undefined) return undefined
  const name = printable(first.name)
  const more = full.length > 1 ? ` So do ${some(full.length - 1, 'other crawl')}.` : ''
  const reader = otherReaders.find(({ crawl, lag, pending }) => crawl === first.name && lag + pending > 0)
  const title = `The crawl '${name}' waits`
  if (reader === undefined) {
    const sentence = `${some(first.unread, 'outcome')} of the crawl '${name}' lie unread, so it has paused: a consumer group must read and acknowledge them.${more}`
    return { tone: 'trouble', code: 'crawl-waits', title, sentence }
  }
  const left = `${some(reader.lag + reader.pending, 'outcome')} that it has not acknowledged`
  const sentence = isRead(reader)
    ? `The crawl '${name}' has paused until its reader '${printable(reader.group)}' has worked through ${left}.`
    : `${silence(reader)}, and the crawl '${name}' has paused because of ${left}. Start it again, or forget it: ${forgetCommand(reader)}.`
  return { tone: 'trouble', code: 'crawl-waits', title, sentence: sentence + more }
}

function silence({ group, idleMs, oldest }: Reader): string {
  const name = `The reader '${printable(group)}'`
  if (idleMs !== undefined) return `${name} was last heard of ${length(idleMs)} ago`
  return oldest === undefined
    ? `${name} has no consumer`
    : `${name} has no consumer and is ${length(oldest.ageMs)} behind`
}

/** Quotes a text for a shell. */
export function forgetCommand({ group, crawl }: Reader): string {
  const name = /^[\w.:-]+$/.test(group) ? group : `'${printable(group).replaceAll("'", "'\\''")}'`
  return `decorum outcomes --forget --group ${name}${crawl === DEFAULT_CRAWL ? '' : ` --crawl ${crawl}`}`
}

/**
 * The lane that is due next: when, and its reason to wait. `isKnown`: it will be due then; otherwise its gate opens after another event.
 * undefined: no lane waits.
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

/** If candidates wait this long, ms, and none is stored meanwhile, they wait for a gateway that does nothing. */
const STUCK_AFTER_MS = 10_000
const isIntakeStuck = ({ candidates, candidatesForMs = 0 }: Totals, takenIn: number | undefined): boolean =>
  candidates > 0 && candidatesForMs > STUCK_AFTER_MS && takenIn === 0

function waits({ waiting, lanes, candidates, candidatesAreEstimated }: Totals, capital = true): string {
  const verb = Math.round(waiting) === 1 ? 'waits' : 'wait'
  const inLanes = `${some(waiting, 'URL')} ${verb} in ${some(lanes, 'lane')}`
  const inQueue = `${candidatesAreEstimated ? 'about ' : ''}${some(candidates, 'URL')} in the queue of candidates`
  const text = candidates === 0 ? inLanes : waiting === 0 ? `${inQueue}, none in lanes` : `${inLanes}, ${inQueue}`
  return capital ? text.charAt(0).toUpperCase() + text.slice(1) : text
}

/** Processes announce themselves every second; a role without an announcement does no work. */
function missingRole(members: Member[]): 'gateway' | 'fetcher' | undefined {
  const roles = new Set(members.map((one) => one.role))
  if (!roles.has('fetcher')) return 'fetcher'
  return roles.has('gateway') ? undefined : 'gateway'
}
