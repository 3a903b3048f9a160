/** The sentence at the top of the overview: polite, moving, calm, or trouble. */

import { readFileSync } from 'node:fs'
import type { FleetView } from '@decorum/console/inside'
import { headline, recentOf, TROUBLES, totalsOf } from '@decorum/console/inside'
import { type Crawl, type Member, type Reader, USUAL } from '@decorum/ledger'
import type { Intake, PartitionView, Sample } from '@decorum/ledger/views'
import { expect, test } from 'vitest'

const now = 1_800_000_000_000
const fleet: Member[] = [
  { id: 'g', role: 'gateway', slots: 0 },
  { id: 'f', role: 'fetcher', slots: 100 },
]

function part(over: Partial<PartitionView> = {}): PartitionView {
  return { tag: '{decorum:0}', now, lanes: 0, due: 0, inFlight: 0, waiting: 0, unread: 0, counts: {}, ...over }
}

const NONE: Intake = { jobs: 0, urls: 0, isEstimate: false, paused: [] }
type Seen = Extract<FleetView, { kind: 'seen' }>
const viewOf = (partitions: PartitionView[], over: Partial<Seen> = {}): Seen => ({
  ...{ kind: 'seen', at: now, partitions, away: 0, lanes: [], members: fleet, readers: [], otherReaders: [] },
  ...{ crawls: [], intake: NONE, recent: {} },
  ...over,
})

const at = (
  partitions: PartitionView[],
  members = fleet,
  perMinute?: number,
  limit = 1_000_000,
  away = 0,
  readers: Reader[] = [],
) => headline(viewOf(partitions, { away, members, readers, recent: { perMinute } }), limit)

/** The same with candidates that no gateway has taken in. */
const withQueue = (partitions: PartitionView[], intake: Intake, takenIn?: number, members = fleet) =>
  headline(viewOf(partitions, { members, intake, recent: { takenIn } }), 1_000_000)

test('candidates that no gateway has taken in are counted, and nobody says that there is nothing to do', () => {
  const intake = { jobs: 57, urls: 57, isEstimate: false, paused: [], oldestMs: 500 }
  expect(withQueue([part({ waiting: 3, lanes: 2, nextDue: now + 800 })], intake).sentence).toBe(
    '3 URLs wait in lanes, 57 URLs in the queue of candidates; those in lanes until their lane is due. The next lane is due in 0.8 s.',
  )
  expect(withQueue([part()], intake)).toMatchObject({
    tone: 'polite',
    sentence: '57 URLs in the queue of candidates, none in lanes.',
  })
  expect(withQueue([part()], intake, undefined, [])).toMatchObject({
    tone: 'trouble',
    code: 'no-fetcher',
    title: 'No fetcher is running',
  })
})

test('candidates that have waited for ten seconds while none is taken in are trouble; while some are, they are not', () => {
  const intake = { jobs: 57, urls: 5_700, isEstimate: true, paused: [], oldestMs: 12_000 }
  expect(withQueue([part({ waiting: 3, lanes: 2 })], intake, 0)).toEqual({
    tone: 'trouble',
    code: 'not-taken-in',
    title: 'No gateway accepts candidates',
    sentence:
      '3 URLs wait in lanes, about 5\u202f700 URLs in the queue of candidates. The oldest candidate was added 12 s ago, and no gateway takes any in.',
  })
  expect(withQueue([part({ waiting: 3, lanes: 2 })], intake, 400).tone).toBe('polite')
  expect(withQueue([part({ waiting: 3, lanes: 2 })], intake).tone).toBe('polite')
})

test('when every lane waits for its delay it reads "polite, not stalled", with the instant at which that ends', () => {
  const head = at([part({ waiting: 312, lanes: 40, nextDue: now + 800 })])
  expect(head).toEqual({
    tone: 'polite',
    code: 'polite',
    title: 'Polite, not stalled',
    sentence: '312 URLs wait in lanes, each until its lane is due. The next lane is due in 0.8 s.',
  })
})

test('lanes that wait for somebody are not said to be due', () => {
  const lane = {
    agent: 'bot',
    origin: 'http://a.example',
    waiting: 3,
    state: 'waiting' as const,
    tries: 0,
    due: now + 9,
  }
  const closed = [{ gate: 'crawl-held' as const, until: now + 60_000 }]
  const origin = { origin: 'http://a.example', version: 1, state: {}, delays: [], lanes: [], now }
  const lanes = [{ partition: 0, lane: { ...lane, closed }, origin }]
  expect(headline(viewOf([part({ waiting: 3, lanes: 1, nextDue: now + 9 })], { lanes }), 10).sentence).toBe(
    '3 URLs wait in lanes. The next lane: its crawl is paused, or nobody reads the outcomes of its crawl.',
  )
})

test('a master that is away is trouble, and the sentence says whose', () => {
  expect(at([part({ waiting: 3, lanes: 1, inFlight: 1 })], fleet, 60, 1_000_000, 2)).toMatchObject({
    tone: 'trouble',
    code: 'partitions-away',
    title: '2 of 3 partitions do not answer',
    sentence: expect.stringContaining('The others continue.'),
  })
})

test('a master that came back holds its own partitions only', () => {
  const head = at([part({ waiting: 3, lanes: 1, holdUntil: now + 5_000 }), part()])
  expect(head).toMatchObject({
    title: 'Holding back',
    sentence: expect.stringContaining('Every lane of its 1 of 2 partitions waits for another 5 s'),
  })
})

test('one lane in flight anywhere is crawling, with the rate of the last minute', () => {
  const head = at([part({ waiting: 5, lanes: 3, inFlight: 1 }), part({ waiting: 7, lanes: 2 })], fleet, 60)
  expect(head.tone).toBe('moving')
  expect(head.sentence).toBe(
    '1 request in flight, 12 URLs wait in lanes. The pace is 60 outcomes a minute. No lane is late.',
  )
})

test('between two requests a crawl that moved in the last minute is still crawling; a silent minute is polite waiting', () => {
  const delay = [part({ waiting: 5, lanes: 3, nextDue: now + 5_000 })]
  expect(at(delay, fleet, 6).tone).toBe('moving')
  expect(at(delay, fleet, 0)).toMatchObject({ tone: 'polite', sentence: expect.stringContaining('is due in 5 s') })
})

test('open lanes, nothing in flight and more than two seconds late is a stall', () => {
  expect(at([part({ waiting: 5, lanes: 3, due: 2, nextDue: now - 9_000 })])).toMatchObject({
    tone: 'trouble',
    code: 'stalled',
    title: 'Stalled',
    sentence: '2 lanes could be visited, the oldest for 9 s, and nothing is in flight.',
  })
})

test('the same backlog a moment late is not a stall yet', () => {
  expect(at([part({ waiting: 5, lanes: 3, due: 2, nextDue: now - 1_900 })]).tone).toBe('polite')
})

test('late lanes while requests are in flight mean too few slots, not a stall', () => {
  const head = at([part({ waiting: 500, lanes: 300, due: 200, inFlight: 100, nextDue: now - 9_000 })])
  expect(head.tone).toBe('moving')
  expect(head.sentence).toContain('9 s late: more slots would help')
})

test('work without a fetcher or a gateway names the missing one', () => {
  const work = [part({ waiting: 1, lanes: 1, nextDue: now + 10 })]
  expect(at(work, []).title).toBe('No fetcher is running')
  expect(at(work, fleet.slice(1)).title).toBe('No gateway is running')
  expect(at(work, fleet).tone).toBe('polite')
})

test('nothing to do is calm, with or without processes', () => {
  expect(at([part()], []).title).toBe('Nothing to do')
})

test('a partition full of unread outcomes is said before everything but a hold', () => {
  const full = part({ waiting: 9, lanes: 9, unread: 10 })
  expect(at([part(), full], fleet, undefined, 10).title).toBe('Nobody reads the outcomes')
  expect(at([part(), { ...full, unread: 9, nextDue: now + 1 }], fleet, undefined, 10).tone).toBe('polite')
  expect(at([part({ ...full, holdUntil: now + 55_000 })], fleet, undefined, 10)).toMatchObject({
    tone: 'polite',
    code: 'held',
    title: 'Holding back',
    sentence: expect.stringContaining('another 55 s'),
  })
})

test('a group that nobody reads any more and that stops the crawl is named, with the command that forgets it', () => {
  const full = [part({ waiting: 9, lanes: 9, unread: 10 })]
  const silent = {
    ...{ crawl: 'default', group: 'old', lag: 7, lagIsLeast: false, pending: 3, consumers: [], consumerCount: 1 },
    ...{ idleMs: 7_200_000, oldest: { entry: '1-0', id: 'a', ageMs: 7_200_000 } },
  }
  const say = (reader: Reader) => at(full, fleet, undefined, 10, 0, [reader])
  expect(say(silent)).toEqual({
    tone: 'trouble',
    code: 'unread',
    title: "Nobody reads as 'old' any more",
    sentence:
      "The reader 'old' was last seen 2 h ago, and dispatch has paused because of 10 unread outcomes. Start it again, or forget it: decorum outcomes --forget --group old.",
  })
  const { idleMs: _, ...without } = silent
  expect(say(without).sentence).toMatch(/^The reader 'old' has no consumer and is 2 h behind, and/)
  expect(say({ ...silent, group: "a' b", crawl: 'news' }).sentence).toContain(
    "decorum outcomes --forget --group 'a'\\'' b' --crawl news.",
  )
  expect(say({ ...silent, idleMs: 100 })).toMatchObject({
    title: 'A reader is behind',
    sentence: "Dispatch has paused until the reader 'old' has worked through 10 unread outcomes.",
  })
})

test('another crawl that waits for its reader is named, and is no trouble while it holds no URLs', () => {
  const reader: Reader = {
    ...{ crawl: 'news', group: 'old', lag: 7, lagIsLeast: false, pending: 3, consumers: [], consumerCount: 1 },
    ...{ idleMs: 100, oldest: { entry: '1-0', id: 'a', ageMs: 7_200_000 } },
  }
  const crawl = (name: string, over: Partial<Crawl> = {}): Crawl => ({
    ...{ name, record: USUAL, waiting: 5, unread: 10, unreadInOne: 10, counts: {}, bytes: 0 },
    ...over,
  })
  const say = (crawls: Crawl[], otherReaders: Reader[] = []) => {
    const partitions = [part({ waiting: 9, lanes: 9, nextDue: now + 10 })]
    return headline(viewOf(partitions, { otherReaders, crawls }), 10)
  }
  const text = "The crawl 'news' has paused until the reader 'old' has worked through 10 unread outcomes."
  expect(say([crawl('news')], [reader])).toEqual({
    tone: 'trouble',
    code: 'crawl-waits',
    title: "The crawl 'news' waits",
    sentence: text,
  })
  expect(say([crawl('news')], [{ ...reader, idleMs: 7_200_000 }]).sentence).toBe(
    "The reader 'old' was last seen 2 h ago, and the crawl 'news' has paused because of 10 unread outcomes. Start it again, or forget it: decorum outcomes --forget --group old --crawl news.",
  )
  expect(say([crawl('news'), crawl('more')], [{ ...reader, crawl: 'more' }]).sentence).toBe(
    "10 outcomes lie unread, and the crawl 'news' has paused: a consumer group must read and acknowledge them. So do 1 other crawl.",
  )
  for (const fine of [{ waiting: 0 }, { unreadInOne: 9, unread: 12 }])
    expect(say([crawl('default'), crawl('news', fine)], [reader]).title).toBe('Polite, not stalled')
})

test.each([
  [['candidates'], "The queue 'candidates' is paused", 'no candidate is taken in'],
  [['orders'], "The queue 'orders' is paused", 'no order reaches a fetcher'],
  [['candidates', 'orders'], "The queues 'candidates' and 'orders' are paused", 'no candidate is taken in'],
] as const)('queues that another tool has paused are trouble, whatever waits: %j', (paused, title, stops) => {
  for (const partitions of [
    [part()],
    [part({ waiting: 3, lanes: 3, nextDue: now + 50_000 })],
    [part({ holdUntil: now + 5_000 })],
  ]) {
    const said = withQueue(partitions, { ...NONE, paused: [...paused] })
    expect(said).toMatchObject({ tone: 'trouble', code: 'queue-paused', title })
    expect(said.sentence).toContain(stops)
    expect(said.sentence).toContain('queue.resume()')
  }
})

test('what happened lately is read from the samples of the ledger', () => {
  const sample = (ageMs: number, counts: Record<string, number>): Sample => ({
    ...{ at: now - ageMs, due: 0, lanes: 0, inFlight: 0, unread: 0, lagMs: 0, jobs: 0 },
    counts,
  })
  const view = part({ counts: { fetched: 40, parked: 10, absorbed: 5 } })
  const old = sample(500_000, {})
  const samples = [
    sample(5_000, { fetched: 39 }),
    sample(20_000, { fetched: 30, parked: 10 }),
    sample(60_000, { fetched: 10 }),
    old,
  ]
  expect(recentOf([{ view, samples }])).toEqual({ perMinute: 30, takenIn: 15 })
  expect(recentOf([{ view, samples: [old] }])).toEqual({ perMinute: undefined, takenIn: undefined })
  expect(recentOf([{ view: part(), samples }])).toEqual({ perMinute: 0, takenIn: 0 })
})

test('a Redis that does not answer is trouble, in its own words', () => {
  const look: FleetView = { kind: 'unavailable', at: now, why: 'connect ECONNREFUSED' }
  expect(headline(look, 1)).toEqual({
    tone: 'trouble',
    code: 'redis-away',
    title: 'Redis does not answer',
    sentence: 'Nothing new is sent until it does: connect ECONNREFUSED.',
  })
})

test('outcomes are summed over kinds and partitions; other counts are left out', () => {
  const partitions = [part({ counts: { fetched: 3, parked: 100 } }), part({ counts: { failed: 2, disallowed: 1 } })]
  const totals = totalsOf(viewOf(partitions))
  expect(totals.outcomes).toBe(6)
})

test('operating.md has each trouble, and what there is to do', () => {
  const page = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8')
  const [, section = ''] = /### DecorumTrouble\n([\s\S]*?)\n###/.exec(page) ?? []
  for (const code of TROUBLES) expect(section).toContain(`\`${code}\``)
})
