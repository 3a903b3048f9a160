/**
 * Where one candidate is: waiting for a gateway, in its lane and behind how many others, at a fetcher, or ended. Every search is bounded;
 * the answer says which places were not searched.
 */

import { listOf, NOTED_CHARS, type Note } from '@decorum/ledger'
import {
  type LedgerWithViews,
  type OriginView,
  type PartitionView,
  type PendingUrl,
  SEARCHED_OUTCOMES,
  SEARCHED_URLS,
} from '@decorum/ledger/views'
import { type CrawlUrl, DEFAULT_CRAWL, type Outcome, outcomeOf } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
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
export type Searched = {
  found: CandidateStatus[]
  /** places that were not searched, in words */
  notSearched: string[]
}

const AN_HOUR_MS = 3_600_000
/** Most lanes whose heads are searched when only the id is given. */
const LANES_SEARCHED = 100

export async function candidateStatus(ledger: LedgerWithViews, which: WhichCandidate): Promise<Searched> {
  const lanes = await searchLanes(ledger, which)
  if (lanes.found.length > 0) return lanes
  const { id, at, crawl } = which
  const url = at && at.origin + at.path
  const partitions = at === undefined ? [...ledger.tags.keys()] : [ledger.partitionOf(at.origin)]
  if (id !== undefined && (await ledger.storedIn(id, crawl)).length > 0)
    return only({ state: 'stored', ...defined({ id, url }), sentence: storedWhere(at, lanes.notSearched) })
  const outcomes = await Promise.all(
    partitions.map((partition) => ledger.findOutcome(partition, crawl, defined({ id, url }))),
  )
  const ended = outcomes.find((outcome) => outcome !== undefined)
  if (ended !== undefined) return only(endedStatus(ended))
  const note = at && notedOutcome(await ledger.notesOf(at.origin), at.origin + at.path, id)
  if (note !== undefined) return only(notedStatus(note))
  // Jobs are searched only by id, because they contain the URL as the frontier wrote it
  const jobs =
    id === undefined
      ? [{ found: false, complete: false }]
      : await Promise.all(partitions.map((partition) => ledger.findInJobs(partition, { id, crawl })))
  if (id !== undefined && jobs.some(({ found }) => found))
    return only({ state: 'not-taken-in', id, sentence: 'in a job that no gateway has taken in yet' })
  const notSearched = [
    ...lanes.notSearched,
    ...(jobs.every(({ complete }) => complete) ? [] : ['jobs behind the first that wait for a gateway']),
    `outcomes before the latest ${count(SEARCHED_OUTCOMES)} that are stored${at === undefined ? ', because its URL was not given' : ' and the latest notes of its origin'}`,
  ]
  return { found: [], notSearched }
}

const only = (status: CandidateStatus): Searched => ({ found: [status], notSearched: [] })

async function searchLanes(ledger: LedgerWithViews, which: WhichCandidate): Promise<Searched> {
  const { id, at, crawl, agents } = which
  if (at === undefined) return id === undefined ? { found: [], notSearched: [] } : searchHeads(ledger, id, crawl)
  const { origin, path } = at
  const wanted = { path, crawl, ...defined({ id }) }
  const passes = await Promise.all(agents.map((agent) => ledger.findPending({ agent, origin }, wanted)))
  const found = passes.flatMap((pass) => pass.found)
  const isComplete = passes.every(({ complete }) => complete)
  const notSearched = isComplete ? [] : [`URLs behind the first ${count(SEARCHED_URLS)} of its lane`]
  if (found.length === 0) return { found: [], notSearched }
  const view = await ledger.viewOrigin(origin, [...agents])
  const statuses = await pendingStatuses(ledger, found, view)
  return { found: statuses, notSearched }
}

/** Searches the first URLs of lanes that are in flight or due next: the lane of an id is not known without its URL. */
async function searchHeads(ledger: LedgerWithViews, id: string, crawl: string): Promise<Searched> {
  const notSearched = ['lanes that are not due next, because its URL was not given']
  for (const partition of ledger.tags.keys()) {
    const lists = await Promise.all(
      (['in-flight', 'soonest'] as const).map((order) => ledger.viewLanes(partition, { order, limit: LANES_SEARCHED })),
    )
    const at = lists.flat().find(({ lane: { head } }) => head?.id === id && (head.crawl ?? DEFAULT_CRAWL) === crawl)
    if (at?.lane.head === undefined) continue
    const { lane, origin } = at
    const head: PendingUrl = {
      agent: lane.agent,
      origin: lane.origin,
      list: listOf(at.lane.head.priority, crawl),
      entry: '',
      place: 0,
      pending: at.lane.head,
    }
    return { found: await pendingStatuses(ledger, [head], origin), notSearched: [] }
  }
  return { found: [], notSearched }
}

/** @param found  pending URLs of one origin */
async function pendingStatuses(
  ledger: LedgerWithViews,
  found: readonly PendingUrl[],
  view: OriginView,
): Promise<CandidateStatus[]> {
  const [part, notes] = await Promise.all([
    ledger.viewPartition(ledger.partitionOf(view.origin)),
    ledger.notesOf(view.origin),
  ])
  return found.map((one) => pendingStatus(one, view, part, notes))
}

function pendingStatus(
  { agent, origin, pending, place }: PendingUrl,
  view: OriginView,
  part: PartitionView,
  notes: readonly Note[],
): CandidateStatus {
  const lane = view.lanes.find((one) => one.agent === agent)
  const { id, path, priority, expiresAt } = pending
  const about = { id, url: origin + path, agent, priority, expiresAt }
  if (lane === undefined) return { ...about, state: 'pending', sentence: 'in its lane' }
  const isHead = lane.head?.id === pending.id && lane.head.crawl === pending.crawl
  const before = isHead ? 0 : Math.max(1, place)
  const where = { ...about, before, attempts: isHead ? lane.tries : (pending.attempts ?? 0) }
  if (isHead && lane.state === 'in-flight')
    return { ...where, state: 'in-flight', sentence: 'at a fetcher: its request is being made' }
  if (isHead && lane.state === 'reserved')
    return { ...where, state: 'reserved', sentence: 'its order is on its way to a fetcher' }
  const why = whyItWaits(lane, view, { ...part, now: view.now }, notes)
  const inLane = isHead ? 'next in its lane' : `in its lane behind ${some(before, 'URL')}`
  return { ...where, state: 'pending', why, sentence: `${inLane}; the lane: ${why.sentence}${goesOn(why, view.now)}` }
}

/** When its lane goes on, at the earliest; '' when nothing holds it, or only an operator can end the wait. */
function goesOn({ until }: Why, now: number): string {
  if (until === undefined || until <= now) return ''
  return `; it goes on in ${length(until - now)} at the earliest, ${until - now < AN_HOUR_MS ? clock(until) : day(until, now)}`
}

function storedWhere(at: CrawlUrl | undefined, notSearched: readonly string[]): string {
  if (at === undefined) return 'it is stored, in which lane is not known: give its URL'
  if (notSearched.length === 0) return 'it is stored, but not in the lane of this URL'
  return `it is stored, in its lane behind at least ${count(SEARCHED_URLS)} others`
}

function endedStatus(outcome: Outcome): CandidateStatus {
  const { id, url, agent, attempts, kind, at } = outcome
  const how = 'reason' in outcome ? outcome.reason : 'status' in outcome ? outcome.status : undefined
  return {
    state: 'ended',
    id,
    url,
    agent,
    attempts,
    outcome,
    sentence: `it has ended: ${kind}${asCause(how)}, ${day(at)}`,
  }
}

const asCause = (how: string | number | undefined): string => (how === undefined ? '' : ` (${how})`)

type OutcomeNote = Extract<Note, { what: 'outcome' }>

/** Finds an outcome in the notes (kept for three days): once every reader has acknowledged it, it is deleted. @param notes  newest first */
const notedOutcome = (notes: readonly Note[], url: string, id: string | undefined): OutcomeNote | undefined =>
  notes.find(
    (note): note is OutcomeNote =>
      note.what === 'outcome' && note.url === url.slice(0, NOTED_CHARS) && (id ?? note.id) === note.id,
  )

const notedStatus = ({ id, url, agent, kind, reason, status, at }: OutcomeNote): CandidateStatus => ({
  state: 'ended',
  id,
  url,
  agent,
  sentence: `it has ended: ${kind}${asCause(reason ?? status)}, noted on ${day(at)}`,
})

export type CancelAnswer =
  | { kind: 'cancelled'; outcome: Outcome }
  | { kind: 'in-flight' }
  | { kind: 'absent'; status: CandidateStatus | undefined; notSearched: string[] }

/** Most URLs of one lane that are searched to cancel one: more than LANE_LIMIT usually allows. */
const WHOLE_LANE = 1_000_000
/** How often a lane is searched again because URLs left it meanwhile. */
const PASSES = 3

/** Ends one pending candidate as `refused: cancelled`. @param which  needs the URL (`at`), unless the candidate is next in its lane */
export async function cancelCandidate(
  ledger: LedgerWithViews,
  which: WhichCandidate & { id: string },
): Promise<CancelAnswer> {
  for (let pass = 0; pass < PASSES; pass++) {
    const one = await findOne(ledger, which)
    if (one === undefined) continue
    const { id, path, attempts = 0, crawl, meta } = one.pending
    const at = ledger.wall(ledger.partitionOf(one.origin))
    const about = { id, url: one.origin + path, agent: one.agent, at, attempts, crawl, meta }
    const outcome = outcomeOf(about, { kind: 'refused', reason: 'cancelled' })
    const answer = await ledger.cancel(one, outcome)
    if (answer === 'cancelled') return { kind: answer, outcome }
    if (answer === 'in-flight') return { kind: answer }
  }
  const { found, notSearched } = await candidateStatus(ledger, which)
  return { kind: 'absent', status: found[0], notSearched }
}

async function findOne(
  ledger: LedgerWithViews,
  { id, at, agents, crawl }: WhichCandidate & { id: string },
): Promise<PendingUrl | undefined> {
  const lanes =
    at === undefined ? await lanesOf(ledger, id, crawl) : agents.map((agent) => ({ agent, origin: at.origin }))
  for (const lane of lanes) {
    const { found } = await ledger.findPending(lane, { id, crawl, ...defined({ path: at?.path }) }, WHOLE_LANE)
    if (found[0] !== undefined) return found[0]
  }
  return undefined
}

/** The lane of a candidate whose URL is not given, if it is found as the first one of a lane. */
async function lanesOf(ledger: LedgerWithViews, id: string, crawl: string) {
  const { found } = await searchHeads(ledger, id, crawl)
  return found.flatMap(({ agent, url }) =>
    agent === undefined || url === undefined ? [] : [{ agent, origin: new URL(url).origin }],
  )
}
