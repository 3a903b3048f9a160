/**
 * Where one candidate is: waiting for a gateway, in its lane and behind how many others, at a fetcher, or ended. Every search is bounded;
 * the answer says which places were not searched.
 */

import { listOf, NOTED_CHARS, type Note } from '@decorum/ledger'
import {
  type LedgerWithViews,
  LOOKED_AT,
  type OriginView,
  OUTCOMES_LOOKED_AT,
  type PartitionView,
  type PendingUrl,
} from '@decorum/ledger/views'
import { type CrawlUrl, DEFAULT_CRAWL, type Outcome, outcomeOf } from '@decorum/protocol'
import { type Why, whyItWaits } from './why.ts'
import { clock, count, day, length, some } from './words.ts'

export const CANDIDATE_STATES = ['not-taken-in', 'pending', 'reserved', 'in-flight', 'stored', 'ended'] as const
export type CandidateStatus = {
  state: (typeof CANDIDATE_STATES)[number]
  sentence: string
  id?: string
  url?: string
  agent?: string
  priority?: 'high' | 'normal'
  expiresAt?: number
  /** number of URLs of its lane ahead of it */
  before?: number
  /** number of requests made for it */
  attempts?: number
  /** why its lane waits */
  why?: Why
  outcome?: Outcome
}
export type WhichCandidate = {
  id?: string
  at?: CrawlUrl
  /** agents whose lanes are searched */
  agents: readonly string[]
  crawl: string
}
export type Looked = {
  found: CandidateStatus[]
  /** places that were not searched, in words */
  notKnown: string
}

const AN_HOUR_MS = 3_600_000
/** Most lanes whose heads are searched when only the id is given. */
const LANES_LOOKED_AT = 100

export async function candidateStatus(ledger: LedgerWithViews, which: WhichCandidate): Promise<Looked> {
  const lanes = await lookInLanes(ledger, which)
  if (lanes.found.length > 0) return lanes
  const { id, at, crawl } = which
  const partitions = at === undefined ? [...ledger.tags.keys()] : [ledger.partitionOf(at.origin)]
  const wanted = { ...(id === undefined ? {} : { id }), ...(at === undefined ? {} : { url: at.origin + at.path }) }
  const storedIn = id === undefined ? [] : await ledger.storedIn(id, crawl)
  if (id !== undefined && storedIn.length > 0)
    return { found: [storedSomewhere(id, which, lanes.notKnown)], notKnown: '' }
  const ended = await Promise.all(partitions.map((partition) => ledger.findOutcome(partition, crawl, wanted)))
  const outcome = ended.find((one) => one !== undefined)
  if (outcome !== undefined) return { found: [endedStatus(outcome)], notKnown: '' }
  const note = at === undefined ? undefined : notedOutcome(await ledger.notesOf(at.origin), at.origin + at.path, id)
  if (note !== undefined) return { found: [notedStatus(note)], notKnown: '' }
  // For a search by id alone: there the URL is stored as the frontier wrote it
  const jobs =
    id === undefined
      ? []
      : await Promise.all(partitions.map((partition) => ledger.findInJobs(partition, { id, crawl })))
  if (id !== undefined && jobs.some(({ found }) => found))
    return {
      found: [{ state: 'not-taken-in', id, sentence: 'in a job that no gateway has taken in yet' }],
      notKnown: '',
    }
  const notKnown = [
    lanes.notKnown,
    jobs.some(({ complete }) => !complete) || id === undefined
      ? 'jobs behind the first of those that wait for a gateway'
      : '',
    `outcomes before the latest ${count(OUTCOMES_LOOKED_AT)} that are stored${at === undefined ? ', because its URL was not given' : ' and the latest notes of its origin'}`,
  ].filter((part) => part !== '')
  return { found: [], notKnown: `not looked at: ${notKnown.join(', ')}` }
}

async function lookInLanes(ledger: LedgerWithViews, which: WhichCandidate): Promise<Looked> {
  const { id, at, crawl } = which
  if (at === undefined) return id === undefined ? { found: [], notKnown: '' } : lookAtHeads(ledger, id, crawl)
  const partition = ledger.partitionOf(at.origin)
  const wanted = { path: at.path, crawl, ...(id === undefined ? {} : { id }) }
  const looks = await Promise.all(which.agents.map((agent) => ledger.findPending({ agent, origin: at.origin }, wanted)))
  const found = looks.flatMap((look) => look.found)
  const notKnown = looks.every(({ complete }) => complete)
    ? ''
    : `URLs behind the first ${count(LOOKED_AT)} of its lane`
  if (found.length === 0) return { found: [], notKnown }
  const [view, part, notes] = await Promise.all([
    ledger.viewOrigin(at.origin, [...which.agents]),
    ledger.viewPartition(partition),
    ledger.notesOf(at.origin),
  ])
  return { found: found.map((one) => pendingStatus(one, view, part, notes)), notKnown }
}

/** Without the lane of an id, the lanes that are in flight or due next are searched. */
async function lookAtHeads(ledger: LedgerWithViews, id: string, crawl: string): Promise<Looked> {
  const notKnown = 'lanes that are not due next, because its URL was not given'
  for (const partition of ledger.tags.keys()) {
    const lists = await Promise.all(
      (['in-flight', 'soonest'] as const).map((order) =>
        ledger.viewLanes(partition, { order, limit: LANES_LOOKED_AT }),
      ),
    )
    const at = lists.flat().find(({ lane: { head } }) => head?.id === id && (head.crawl ?? DEFAULT_CRAWL) === crawl)
    if (at?.lane.head === undefined) continue
    const { lane, origin } = at
    const [part, notes] = await Promise.all([ledger.viewPartition(partition), ledger.notesOf(lane.origin)])
    const list = listOf(at.lane.head.priority, crawl)
    const head: PendingUrl = {
      agent: lane.agent,
      origin: lane.origin,
      list,
      entry: '',
      place: 0,
      pending: at.lane.head,
    }
    return { found: [pendingStatus(head, origin, part, notes)], notKnown: '' }
  }
  return { found: [], notKnown }
}

function pendingStatus(
  { agent, origin, pending, place }: PendingUrl,
  view: OriginView,
  part: PartitionView,
  notes: readonly Note[],
): CandidateStatus {
  const lane = view.lanes.find((one) => one.agent === agent)
  const isHead = lane?.head?.id === pending.id && lane.head.crawl === pending.crawl
  const { id, path, priority, expiresAt } = pending
  const about = { id, url: origin + path, agent, priority, expiresAt }
  if (lane === undefined) return { ...about, state: 'pending', sentence: 'in its lane' }
  const attempts = isHead ? lane.tries : (pending.attempts ?? 0)
  if (isHead && lane.state === 'in-flight')
    return { ...about, state: 'in-flight', before: 0, attempts, sentence: 'at a fetcher: its request is being made' }
  if (isHead && lane.state === 'reserved')
    return { ...about, state: 'reserved', before: 0, attempts, sentence: 'its order is on its way to a fetcher' }
  const why = whyItWaits(lane, view, { ...part, now: view.now }, notes)
  const before = isHead ? 0 : Math.max(1, place)
  const where = before === 0 ? 'next in its lane' : `in its lane behind ${some(before, 'URL')}`
  return {
    ...about,
    state: 'pending',
    before,
    attempts,
    why,
    sentence: `${where}; the lane: ${why.sentence}${goesOn(why, view.now)}`,
  }
}

/** When its lane goes on, at the earliest; '' when nothing holds it, or only an operator can end the wait. */
function goesOn({ until }: Why, now: number): string {
  if (until === undefined || until <= now) return ''
  return `; it goes on in ${length(until - now)} at the earliest, ${until - now < AN_HOUR_MS ? clock(until) : day(until, now)}`
}

function storedSomewhere(id: string, { at }: WhichCandidate, notLooked: string): CandidateStatus {
  const url = at === undefined ? {} : { url: at.origin + at.path }
  const where =
    at === undefined
      ? 'in which lane is not known: give its URL'
      : notLooked === ''
        ? 'but not in the lane of this URL'
        : `in its lane behind at least ${count(LOOKED_AT)} others`
  return { state: 'stored', id, ...url, sentence: `it is stored, ${where}` }
}

function endedStatus(outcome: Outcome): CandidateStatus {
  const { id, url, agent, attempts, kind } = outcome
  const reason = 'reason' in outcome ? ` (${outcome.reason})` : 'status' in outcome ? ` (${outcome.status})` : ''
  const sentence = `it has ended: ${kind}${reason}, ${day(outcome.at)}`
  return { state: 'ended', id, url, agent, attempts, outcome, sentence }
}

type OutcomeNote = Extract<Note, { what: 'outcome' }>

/** Outcomes that every reader has acknowledged are deleted; the notes of an origin are kept for three days. @param notes  newest first */
const notedOutcome = (notes: readonly Note[], url: string, id: string | undefined): OutcomeNote | undefined =>
  notes.find(
    (note): note is OutcomeNote =>
      note.what === 'outcome' && note.url === url.slice(0, NOTED_CHARS) && (id ?? note.id) === note.id,
  )

function notedStatus({ id, url, agent, kind, reason, status, at }: OutcomeNote): CandidateStatus {
  const how = reason ?? status
  const sentence = `it has ended: ${kind}${how === undefined ? '' : ` (${how})`}, noted on ${day(at)}`
  return { state: 'ended', id, url, agent, sentence }
}

export type CancelAnswer =
  | { kind: 'cancelled'; outcome: Outcome }
  | { kind: 'in-flight' }
  | { kind: 'absent'; status: CandidateStatus | undefined; notKnown: string }

/** Most URLs of one lane that are searched to cancel one: more than LANE_LIMIT usually allows. */
const WHOLE_LANE = 1_000_000
/** How often a lane is searched again because URLs left it meanwhile. */
const LOOKS = 3

/** Ends one pending candidate as `refused: cancelled`. @param which  with its URL, unless it is the next one of its lane */
export async function cancelCandidate(
  ledger: LedgerWithViews,
  which: WhichCandidate & { id: string },
): Promise<CancelAnswer> {
  for (let look = 0; look < LOOKS; look++) {
    const one = await findOne(ledger, which)
    if (one === undefined) continue
    const { id, path, attempts = 0, crawl, meta } = one.pending
    const about = {
      id,
      url: one.origin + path,
      agent: one.agent,
      at: ledger.wall(ledger.partitionOf(one.origin)),
      attempts,
      crawl,
      meta,
    }
    const outcome = outcomeOf(about, { kind: 'refused', reason: 'cancelled' })
    const answer = await ledger.cancel(one, outcome)
    if (answer === 'cancelled') return { kind: answer, outcome }
    if (answer === 'in-flight') return { kind: answer }
  }
  const { found, notKnown } = await candidateStatus(ledger, which)
  return { kind: 'absent', status: found[0], notKnown }
}

async function findOne(
  ledger: LedgerWithViews,
  { id, at, agents, crawl }: WhichCandidate & { id: string },
): Promise<PendingUrl | undefined> {
  const lanes =
    at === undefined ? await lanesOf(ledger, id, crawl) : agents.map((agent) => ({ agent, origin: at.origin }))
  for (const lane of lanes) {
    const wanted = { id, crawl, ...(at === undefined ? {} : { path: at.path }) }
    const { found } = await ledger.findPending(lane, wanted, WHOLE_LANE)
    if (found[0] !== undefined) return found[0]
  }
  return undefined
}

/** The lane of an id without a known URL, if it is next there. */
async function lanesOf(
  ledger: LedgerWithViews,
  id: string,
  crawl: string,
): Promise<{ agent: string; origin: string }[]> {
  const { found } = await lookAtHeads(ledger, id, crawl)
  return found.flatMap(({ agent, url }) =>
    agent === undefined || url === undefined ? [] : [{ agent, origin: new URL(url).origin }],
  )
}
