/** The storm's judge is judged: each way of breaking a promise, written by hand, and each excuse that is none. */

import type { RequestLine } from '@decorum/audit'
import type { Outcome } from '@decorum/protocol'
import { LAST_WORD_MS } from '@decorum/sending/testing'
import { expect, test } from 'vitest'
import type { FaultLog } from '../faults.ts'
import { SCALED } from '../manners.ts'
import type { Outage } from '../redis-fire.ts'
import type { OfOne, Stall } from '../stalls.ts'
import { judgeStorm, type StormFacts } from '../verdict.ts'

const T = 1_790_000_000_000
const ORIGIN = 'http://127.40.0.1:8000'
const AGENT = 'Mozilla/5.0 (compatible; stormbot/1.0; +https://example.com/bot)'
const HOLD = SCALED.leaseMs + SCALED.quarantineMs

const visit = (start: number, end: number, path: string, more: Partial<RequestLine> = {}): RequestLine => {
  return {
    kind: 'request',
    origin: ORIGIN,
    agent: AGENT,
    method: 'GET',
    path,
    start: T + start,
    end: T + end,
    status: 200,
    ...more,
  }
}
const robots = visit(0, 5, '/robots.txt', { status: 404 })
const outcome = (id: string, at: number): Outcome => ({
  id,
  url: `${ORIGIN}/${id}`,
  agent: 'stormbot',
  kind: 'expired',
  reason: 'lane-busy',
  at: T + at,
  attempts: 0,
})

/** Redis accepts connections as soon as it is started again. */
type Faults = Partial<Omit<FaultLog, 'outages'>> & { outages?: Omit<Outage, 'startedAt'>[] }
type Scene = {
  requests?: RequestLine[]
  faults?: Faults
  /** the second: when it was asked for, where that was not at once */
  accepted?: [string, number, number?][]
  outcomes?: [string, number[]][]
  stored?: string[]
  stalls?: (Omit<Stall, 'who'> & { who?: string })[]
  starts?: OfOne[]
}
function judge({
  requests = [],
  faults = {},
  accepted = [],
  outcomes = [],
  stored = [],
  stalls = [],
  starts = [],
}: Scene) {
  const facts: StormFacts = {
    times: SCALED,
    slots: 1,
    evidence: { requests: [robots, ...requests], bodies: new Map() },
    faults: {
      kills: [],
      freezes: [],
      hurts: [],
      configs: [],
      ...faults,
      outages: (faults.outages ?? []).map((one) => ({ startedAt: one.backAt, ...one })),
    },
    book: {
      accepted: new Map(accepted.map(([id, at, from = at]) => [id, { from: T + from, at: T + at }])),
      outcomes: new Map(outcomes.map(([id, ats]) => [id, ats.map((at) => ({ outcome: outcome(id, at), at: T + at }))])),
      unsure: new Set(),
      redelivered: 0,
    },
    stored: new Set(stored),
    breaksOff: () => false,
    starts,
    stalls: stalls.map((stall) => ({ who: 'the sites', ...stall })),
  }
  return judgeStorm(facts)
}
const kill = (at: number, role: 'gateway' | 'fetcher' = 'fetcher') => ({ name: `${role}-1`, role, at: T + at })
const tail = { killedAt: T + 5_000, backAt: T + 6_000, lostSince: T + 4_000, lostBytes: 9 }

test('while the configuration has a longer delay, a shorter one is broken; before, after, and where Redis may have forgotten it, it is not', () => {
  const configs = [{ delayMs: 2 * SCALED.delayMs, appliedAt: T + 900, from: T + 1_000, until: T + 9_000 }]
  const usual = (start: number) => [
    visit(start, start + 10, '/a'),
    visit(start + 10 + SCALED.delayMs, start + 170, '/b'),
  ]
  const words = (requests: RequestLine[], faults: Faults = {}) =>
    judge({ requests, faults: { configs, ...faults } }).broken
  expect(words(usual(5_000))).toEqual([
    expect.stringMatching(/^too early for the configuration: .*\/b at .*, 150 ms after .* 300 ms were in force$/),
  ])
  const kept = [visit(5_000, 5_010, '/a'), visit(5_310, 5_320, '/b')]
  expect(words(kept)).toEqual([])
  expect(judge({ requests: kept, faults: { configs } }).underLongerDelay).toEqual([2])
  for (const at of [500, 1_500, 8_900, 12_000]) expect(words(usual(at)), `${at}`).toEqual([])
  expect(
    words(usual(8_000), { outages: [{ ...tail, lostSince: T + 6_500, killedAt: T + 6_500, backAt: T + 6_600 }] }),
  ).toEqual([expect.stringMatching(/while the ledger was away/)])
})

test('a polite crawl with every outcome breaks nothing', () => {
  const verdict = judge({
    requests: [visit(200, 210, '/a'), visit(400, 410, '/b')],
    accepted: [
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ],
    outcomes: [
      ['a', [220]],
      ['b', [420]],
    ],
    stored: ['c'],
  })
  expect(verdict.broken).toEqual([])
})

test('an accepted candidate that is nowhere is lost, unless the file was cut where it stood', () => {
  expect(judge({ accepted: [['a', 0]] })).toMatchObject({ lost: ['a'], lostWithTail: [] })
  const cut = judge({
    accepted: [
      ['a', 3_999],
      ['b', 4_001],
    ],
    faults: { outages: [tail] },
    requests: [visit(8_350, 8_400, '/z')],
  })
  expect(cut).toMatchObject({ lost: ['a'], lostWithTail: ['b'] })
  const asked = judge({
    accepted: [
      ['a', 6_500, 5_900],
      ['b', 6_500, 6_001],
    ],
    faults: { outages: [tail] },
  })
  expect(asked, 'of one call some went before the tail was cut, and some after').toMatchObject({
    lost: ['b'],
    lostWithTail: ['a'],
  })
  expect(cut.broken).toHaveLength(1)
})

test('a second outcome is one too many, unless the file forgot the first', () => {
  expect(judge({ accepted: [['a', 0]], outcomes: [['a', [100, 200]]] }).doubled).toEqual(['a'])
  const requests = [visit(8_350, 8_400, '/z')]
  const forgot = judge({
    accepted: [['a', 0]],
    outcomes: [['a', [4_500, 9_000]]],
    faults: { outages: [tail] },
    requests,
  })
  expect(forgot).toMatchObject({ doubled: [], doubledWithTail: ['a'], broken: [] })
  const remembered = judge({
    accepted: [['a', 0]],
    outcomes: [['a', [3_900, 9_000]]],
    faults: { outages: [tail] },
    requests,
  })
  expect(remembered.doubled).toEqual(['a'])
})

test('a candidate that has its outcome is no longer stored', () => {
  expect(judge({ accepted: [['a', 0]], outcomes: [['a', [100]]], stored: ['a'] }).broken).toHaveLength(1)
})

test('an outcome of a candidate that was never enqueued is a violation', () => {
  expect(judge({ outcomes: [['x', [5]]] }).phantoms).toEqual(['x'])
})

test('a second request for a URL needs a death, and a fetcher’s', () => {
  const requests = [visit(200, 210, '/a'), visit(3_000, 3_010, '/a')]
  expect(judge({ requests }).broken).toHaveLength(1)
  expect(judge({ requests, faults: { kills: [kill(205, 'gateway')] } }).broken).toHaveLength(1)
  expect(judge({ requests, faults: { kills: [kill(2_000)] } }).broken, 'long after it was settled').toHaveLength(1)
  const killed = judge({ requests, faults: { kills: [kill(205)] } })
  expect(killed).toMatchObject({ broken: [], extra: { kill: 1 }, backMs: [2_795] })
})

test('a stall of the machine explains one that is long enough for a lease to be lost, and no shorter one', () => {
  const requests = [visit(200, 210, '/a'), visit(3_000, 3_010, '/a')]
  const stalled = (ms: number) => judge({ requests, stalls: [{ at: T + 205, until: T + 205 + ms }] })
  expect(stalled(350).broken).toEqual([expect.stringContaining('extra request')])
  expect(stalled(2_500)).toMatchObject({ broken: [], extra: { freeze: 1 } })
})

test('a stall explains nothing that is far from it: no extra request, none on hold, none by a shorter delay', () => {
  const requests = [visit(20_000, 20_010, '/a'), visit(23_000, 23_010, '/a')]
  const stalled = (at: number) => [{ at: T + at, until: T + at + 3_000 }]
  const later = { kills: [kill(22_000)] }
  expect(judge({ requests, faults: later, stalls: stalled(0) }).broken).toEqual([
    expect.stringContaining('extra request'),
  ])
  expect(judge({ requests, faults: later, stalls: stalled(20_020) }).broken, 'told late').toEqual([])
  const outages = [{ killedAt: T + 21_000, backAt: T + 22_000, lostSince: T + 21_000, lostBytes: 0 }]
  const onHold = [visit(23_000, 23_010, '/c'), visit(22_000 + HOLD + 10, 22_000 + HOLD + 20, '/d')]
  const far = judge({ requests: onHold, faults: { outages }, stalls: stalled(0) })
  expect(far).toMatchObject({ broken: [expect.stringContaining('on hold')], unjudgedHolds: 0 })
  const near = judge({ requests: onHold, faults: { outages }, stalls: stalled(20_500) })
  expect(near).toMatchObject({ broken: [], unjudgedHolds: 1 })
  const configs = [{ delayMs: 2 * SCALED.delayMs, appliedAt: T + 19_900, from: T + 20_000, until: T + 29_000 }]
  const short = [visit(23_000, 23_010, '/e'), visit(23_010 + SCALED.delayMs, 23_170, '/f')]
  expect(judge({ requests: short, faults: { configs }, stalls: stalled(0) }).broken).toHaveLength(1)
})

test('what a stopped process tells of as a stall is no stall of the machine', () => {
  const freeze = { name: 'fetcher-1', role: 'fetcher' as const, whom: 'family' as const, at: T + 500, until: T + 3_000 }
  const outages = [{ killedAt: T + 4_000, backAt: T + 5_000, lostSince: T + 4_000, lostBytes: 0 }]
  const requests = [visit(6_000, 6_010, '/c'), visit(5_000 + HOLD + 10, 5_000 + HOLD + 20, '/d')]
  const judged = (until: number) =>
    judge({
      requests,
      faults: { outages, freezes: [freeze] },
      stalls: [{ at: T + 460, until: T + until, who: freeze.name }],
    })
  expect(judged(3_040)).toMatchObject({ broken: [expect.stringContaining('on hold')], unjudgedHolds: 0 })
  expect(judged(5_000), 'woken late').toMatchObject({ broken: [], unjudgedHolds: 1 })
})

test('a process that loads its modules is late, and no other is', () => {
  const requests = [visit(200, 210, '/a'), visit(3_000, 3_010, '/a')]
  const stalls = [{ at: T + 205, until: T + 1_905, who: 'fetcher-1' }]
  const judged = (name: string, until: number) =>
    judge({ requests, stalls, starts: [{ name, at: T + 100, until: T + until }] })
  expect(judged('fetcher-1', 1_850).broken).toEqual([expect.stringContaining('extra request')])
  expect(judged('fetcher-2', 1_850), 'of another one').toMatchObject({ broken: [], extra: { freeze: 1 } })
  expect(judged('fetcher-1', 1_000), 'it was ready before').toMatchObject({ broken: [], extra: { freeze: 1 } })
})

test('a stall that began and ended with the freeze of another process is one all the same', () => {
  const requests = [visit(3_050, 3_060, '/a', { status: 0, cut: true }), visit(5_000, 5_010, '/a')]
  const freezes = [
    { name: 'gateway-1', role: 'gateway' as const, whom: 'family' as const, at: T + 500, until: T + 3_000 },
  ]
  const judged = (who: string) =>
    judge({ requests, faults: { freezes }, stalls: [{ at: T + 460, until: T + 3_045, who }] })
  expect(judged('the sites')).toMatchObject({ broken: [], extra: { freeze: 1 } })
  expect(judged('gateway-1').broken).toEqual([expect.stringContaining('extra request')])
})

test('many short stalls explain what a long one does: a visitor that has given up, a lease that is over, a request on hold', () => {
  const stutter = (who: string, from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({ at: T + from + n * 360, until: T + from + n * 360 + 350, who }))
  const unheard = [visit(3_050, 3_060, '/a', { status: 0, cut: true }), visit(5_000, 5_010, '/a')]
  const told = [visit(3_050, 3_060, '/a'), visit(7_000, 7_010, '/a')]
  const broken = (requests: RequestLine[], stalls: Stall[]) => judge({ requests, stalls }).broken
  expect(broken(unheard, [...stutter('fetcher-1', 2_000, 2), ...stutter('the sites', 2_300, 2)])).toEqual([])
  expect(broken(unheard, stutter('fetcher-1', 2_000, 2)), 'not long enough').toHaveLength(1)
  expect(
    broken(unheard, [...stutter('fetcher-1', 2_000, 2), ...stutter('fetcher-2', 2_300, 2)]),
    'of two',
  ).toHaveLength(1)
  expect(broken(told, [...stutter('fetcher-1', 2_700, 3), ...stutter('Redis', 3_000, 3)])).toEqual([])
  expect(broken(told, stutter('fetcher-1', 2_700, 3)), 'not long enough').toHaveLength(1)

  const outages = [{ killedAt: T + 1_000, backAt: T + 2_000, lostSince: T + 1_000, lostBytes: 0 }]
  const onHold = [visit(3_000, 3_010, '/a'), visit(2_000 + HOLD + 10, 2_000 + HOLD + 20, '/b')]
  const early = (stalls: Stall[]) => judge({ requests: onHold, faults: { outages }, stalls }).broken
  expect(early([...stutter('fetcher-1', 1_000, 1), ...stutter('the sites', 1_500, 1)])).toEqual([])
  expect(early(stutter('fetcher-1', 1_000, 1)), 'not long enough').toHaveLength(1)
})

test('the hold begins when Redis accepts connections, which the storm may hear of later', () => {
  const outage = { killedAt: T + 1_000, startedAt: T + 1_800, backAt: T + 2_000, lostSince: T + 1_000, lostBytes: 0 }
  const early = (at: number) =>
    judge({ faults: { outages: [outage] }, requests: [visit(at, at + 10, '/a'), visit(at + 400, at + 410, '/b')] })
      .broken
  expect(early(1_810 + HOLD)).toEqual([])
  expect(early(1_700 + HOLD)).toEqual([expect.stringContaining('on hold')])
})

test('one death of a fetcher with one slot does not explain two extra requests', () => {
  const requests = [visit(200, 210, '/a'), visit(3_000, 3_010, '/a'), visit(400, 410, '/b'), visit(3_200, 3_210, '/b')]
  expect(judge({ requests, faults: { kills: [kill(405)] } }).broken).toEqual([
    expect.stringContaining('2 extra requests after one death'),
  ])
  expect(judge({ requests, faults: { kills: [kill(405), kill(505)] } }), 'two deaths do').toMatchObject({
    broken: [],
    mostPerDeath: 1,
  })
})

test('what one death does not explain any more, something else near it may', () => {
  const requests = [visit(200, 210, '/a'), visit(3_000, 3_010, '/a'), visit(400, 410, '/b'), visit(3_200, 3_210, '/b')]
  const stalls = [{ at: T + 420, until: T + 1_420 }]
  expect(judge({ requests, faults: { kills: [kill(405)] }, stalls })).toMatchObject({
    broken: [],
    extra: { kill: 1, freeze: 1 },
    mostPerDeath: 1,
  })
})

test('a killed lane that comes back too late', () => {
  const late = HOLD + 5_000 + 300
  expect(
    judge({ requests: [visit(200, 210, '/a'), visit(late + 205, late + 215, '/a')], faults: { kills: [kill(205)] } })
      .late,
  ).toEqual([expect.stringContaining('came back later')])
})

test('a request while the ledger is on hold, and a fleet that does not come back after it', () => {
  const outage = { killedAt: T + 1_000, backAt: T + 2_000, lostSince: T + 1_000, lostBytes: 0 }
  const faults = { outages: [outage] }
  expect(judge({ faults, requests: [visit(2_000 + HOLD + 10, 2_000 + HOLD + 20, '/a')] }).broken).toEqual([])
  expect(
    judge({ faults, requests: [visit(3_000, 3_010, '/a'), visit(2_000 + HOLD + 10, 2_000 + HOLD + 20, '/b')] }).broken,
  ).toEqual([expect.stringContaining('on hold')])
  const granted = visit(2_000 + LAST_WORD_MS + 250, 2_500 + LAST_WORD_MS, '/a')
  const then = visit(2_000 + HOLD + 10, 2_000 + HOLD + 20, '/b')
  const just = (at: number) => ({ outages: [{ ...outage, killedAt: T + at }] })
  expect(judge({ faults: just(2_000), requests: [granted, then] }).broken, 'granted just before').toEqual([])
  expect(judge({ faults: just(1_900), requests: [granted, then] }).broken).toHaveLength(1)
  const stalls = [{ at: T + 1_900, until: T + 2_060 }]
  expect(judge({ faults: just(1_900), requests: [granted, then], stalls }).broken, 'sent late').toEqual([])
  expect(judge({ faults, requests: [visit(2_000 + HOLD + 5_100, 2_000 + HOLD + 5_200, '/a')] }).late).toEqual([
    expect.stringContaining('nothing had been granted'),
  ])
})

test('an overlap is a violation, unless a fetcher that was frozen beyond its lease held the first one open', () => {
  const requests = [visit(200, 4_200, '/a', { status: 0, cut: true, late: 5 }), visit(3_000, 3_010, '/b')]
  expect(judge({ requests })).toMatchObject({ violations: [{ offence: 'overlap' }], residual: [] })
  const short = { name: 'fetcher-1', role: 'fetcher' as const, at: T + 300, until: T + 1_300, whom: 'family' as const }
  expect(judge({ requests, faults: { freezes: [short] } }).residual).toEqual([])
  const frozen = judge({ requests, faults: { freezes: [{ ...short, until: T + 4_200 }] } })
  expect(frozen).toMatchObject({ violations: [], residual: [{ offence: 'overlap' }], broken: [] })
  // Within the lease nobody else may be there, frozen or not.
  const tooEarly = [visit(200, 4_200, '/a', { status: 0, cut: true, late: 5 }), visit(1_500, 1_510, '/b')]
  expect(judge({ requests: tooEarly, faults: { freezes: [{ ...short, until: T + 4_200 }] } }).violations).toHaveLength(
    1,
  )
  // Sent by the one that thawed, while another was at work: its guard has failed.
  const thawed = [visit(3_000, 3_050, '/b'), visit(3_020, 3_030, '/a')]
  expect(judge({ requests: thawed, faults: { freezes: [{ ...short, until: T + 3_010 }] } }).violations).toHaveLength(1)
})

test('a robots fetch repeated after the death of its fetcher, or after many short stalls, is an extra request; else it is one too many', () => {
  const again = [visit(3_400, 3_410, '/robots.txt', { status: 404 })]
  expect(judge({ requests: again }).violations).toMatchObject([{ offence: 'robots-too-often' }])
  expect(judge({ requests: again, faults: { kills: [kill(20)] } })).toMatchObject({
    violations: [],
    extra: { kill: 1 },
  })
  const stutter = ['fetcher-1', 'Redis'].flatMap((who) =>
    Array.from({ length: 3 }, (_, n) => ({ at: T + 10 + n * 360, until: T + n * 360 + 360, who })),
  )
  expect(judge({ requests: again, stalls: stutter.slice(0, 3) }).violations, 'not long enough').toHaveLength(1)
  expect(judge({ requests: again, stalls: stutter })).toMatchObject({ violations: [], extra: { freeze: 1 } })
})

test('a request while a site had asked for silence is excused where nobody heard of that, or lived to tell it once its lease was over', () => {
  const answer = (start: number, end: number, more: Partial<RequestLine> = {}) =>
    visit(start, end, '/tired', { status: 429, retryAfter: '9', ...more })
  const next = (start: number) => visit(start, start + 10, '/next')
  const offences = (requests: RequestLine[], faults: Faults = {}, stalls: Scene['stalls'] = []) =>
    judge({ requests, faults, stalls }).violations.map(({ offence }) => offence)
  const soon = [answer(1_000, 1_010), next(2_000)]
  const later = [answer(1_000, 1_010), next(3_400)]
  expect(offences(soon)).toEqual(['in-back-off'])
  expect(offences(soon, { kills: [kill(1_012)] }), 'its lease is not over').toEqual(['in-back-off'])
  expect(offences(later), 'whoever heard it is alive').toEqual(['in-back-off'])
  expect(judge({ requests: later, faults: { kills: [kill(1_012)] } })).toMatchObject({
    violations: [],
    extra: { kill: 1 },
  })
  expect(offences([...later, answer(3_600, 3_610), next(4_100)], { kills: [kill(1_012)] })).toEqual(['in-back-off'])
  expect(offences([answer(1_000, 1_010, { cut: true }), next(2_000)]), 'its client has hung up').toEqual([])
  const proxied = [{ ...answer(1_000, 1_310), path: '/proxied/1' }, next(2_000)]
  expect(offences(proxied)).toEqual(['in-back-off'])
  expect(offences(proxied, {}, [{ at: T + 1_000, until: T + 1_300 }]), 'its client may have hung up').toEqual([])
  const forgotten = [answer(4_100, 4_110), next(8_700)]
  expect(offences(forgotten, { outages: [tail] }), 'whoever told of it does so again').toEqual(['in-back-off'])
  expect(offences(forgotten, { outages: [tail], kills: [kill(7_000)] })).toEqual([])
  expect(offences(forgotten, { outages: [tail] }, [{ at: T + 6_000, until: T + 7_500 }])).toEqual([])
})
