/** Why one lane waits, in words. */

import { dueIn, robotsWord, whyItWaits } from '@decorum/console/inside'
import type { LaneView, OriginView, PartitionView } from '@decorum/ledger/views'
import { step, unknownOrigin } from '@decorum/robots'
import { expect, test } from 'vitest'

const now = 1_800_000_000_000
const part: PartitionView = {
  tag: '{decorum:0}',
  now,
  lanes: 1,
  due: 0,
  inFlight: 0,
  waiting: 1,
  unread: 0,
  counts: {},
}
const lane: LaneView = {
  agent: 'decorum',
  origin: 'http://a.example',
  waiting: 1,
  state: 'waiting',
  tries: 0,
  closed: [],
}
const origin: OriginView = { origin: 'http://a.example', version: 1, state: unknownOrigin, delays: [], lanes: [], now }

test('a lane whose delay is not over says so, without the length: of an agent’s own the origin knows nothing', () => {
  const delays = [{ agent: 'decorum', delayMs: 0 }]
  expect(whyItWaits({ ...lane, due: now + 3_000 }, { ...origin, delays }, part)).toEqual({
    state: 'delay',
    sentence: 'waits for its delay to end',
    until: now + 3_000,
  })
})

test('a clamped crawl-delay is shown as the site wrote it', () => {
  const delays = [{ agent: 'decorum', delayMs: 10_000, clampedFrom: 100 }]
  const why = whyItWaits({ ...lane, due: now + 3_000 }, { ...origin, delays }, part)
  expect(why.sentence).toBe("waits for its delay of 10 s (the site's 1 min 40 s, clamped) to end")
})

test('the delay of another agent is not this lane’s', () => {
  const delays = [{ agent: 'other', delayMs: 10_000, clampedFrom: 100 }]
  const why = whyItWaits({ ...lane, due: now + 3_000 }, { ...origin, delays }, part)
  expect(why.sentence).toBe('waits for its delay to end')
})

test('an open lane waits for a slot; after two seconds it is late', () => {
  expect(whyItWaits({ ...lane, due: now - 2_000 }, origin, part).state).toBe('due')
  expect(whyItWaits({ ...lane, due: now - 2_001 }, origin, part).state).toBe('late')
  expect(whyItWaits(lane, origin, part).state).toBe('due')
})

test('back-off names its end and how often it has come', () => {
  const backOff = { until: now + 60_000, incidents: 3 }
  const closed: LaneView['closed'] = [{ gate: 'back-off', until: backOff.until }]
  const why = whyItWaits({ ...lane, due: now - 9_000, closed }, { ...origin, backOff }, part)
  expect(why).toMatchObject({ state: 'back-off', until: now + 60_000, sentence: expect.stringContaining('3 times') })
})

test.each([
  ['asked-for-less', {}, 'the site asked for less (429 or 503)'],
  ['asked-to-wait', { incidents: 4 }, 'the site asked to wait (Retry-After)'],
  ['turned-away', { failures: 5 }, 'the site turned requests away (403), 5 times in a row'],
  ['no-answer', { failures: 2 }, 'the site did not answer, 2 times in a row'],
  [undefined, { failures: 2 }, 'the site turned requests away (403) or did not answer, 2 times in a row'],
] as const)(
  'the cause of a back-off is named: %s',
  (cause, { incidents = 1, failures = 0 }: { incidents?: number; failures?: number }, said) => {
    const closed: LaneView['closed'] = [{ gate: 'back-off', until: now + 60_000 }]
    const known = { ...origin, backOff: { until: now + 60_000, incidents }, failures }
    const notes = cause === undefined ? [] : [{ at: now, what: 'back-off' as const, cause, agent: 'decorum' }]
    expect(whyItWaits({ ...lane, closed }, known, part, notes).sentence).toBe(`backing off: ${said}`)
  },
)

test('every gate that is closed is named, first the one that opens last', () => {
  const backOff = { until: now + 60_000, incidents: 1 }
  const paused = { until: now + 90_000, reason: 'site asked by mail' }
  const closed: LaneView['closed'] = [
    { gate: 'paused', until: paused.until },
    { gate: 'back-off', until: backOff.until },
  ]
  const why = whyItWaits({ ...lane, closed }, { ...origin, backOff, paused }, part)
  expect(why).toEqual({
    state: 'paused',
    sentence: 'paused by the operator: site asked by mail; and backing off: the site asked for less (429 or 503)',
    until: now + 90_000,
  })
})

test('a hold after a restart of Redis counts for a lane that is due', () => {
  const closed: LaneView['closed'] = [{ gate: 'startup-hold', until: now + 5_000 }]
  const why = whyItWaits({ ...lane, due: now - 1, closed }, origin, part)
  expect(why).toMatchObject({ state: 'startup-hold', until: now + 5_000 })
})

test('a request in flight counts its tries from one', () => {
  expect(whyItWaits({ ...lane, state: 'in-flight' }, origin, part).sentence).toBe('a request is in flight')
  const again = whyItWaits({ ...lane, state: 'in-flight', tries: 1 }, origin, part)
  expect(again.sentence).toBe('a request is in flight, try 2')
})

test.each([
  ['robots-unreachable', 'robots'],
  ['back-off', 'back-off'],
  ['paused', 'paused'],
  ['lane-busy', 'delay'],
  ['unknown-agent', 'startup-hold'],
] as const)('a lane deferred by %s shows as %s until its due time', (heldBy, state) => {
  const why = whyItWaits({ ...lane, heldBy, due: now + 700 }, origin, part)
  expect(why).toMatchObject({ state, until: now + 700 })
})

test.each([
  ['robots-in-flight', 'robots', 'not known'],
  ['crawl-held', 'paused', 'by hand'],
] as const)(
  'a lane deferred by %s has no instant of its own: it goes on when something else has happened',
  (heldBy, state, due) => {
    const held = { ...lane, heldBy, due: now + 90 }
    const why = whyItWaits(held, origin, part)
    expect(why.state).toBe(state)
    expect(why).not.toHaveProperty('until')
    expect(dueIn(held, why, now)).toBe(due)
  },
)

test('a gate that held the lane once says nothing about an open one', () => {
  expect(whyItWaits({ ...lane, heldBy: 'robots-unreachable', due: now - 1 }, origin, part).state).toBe('due')
})

test('what is known of robots.txt, in a word', () => {
  const ok = step(unknownOrigin, { kind: 'answered', status: 200, hash: 'h', jitter: 0 }, now)
  const gone = step(unknownOrigin, { kind: 'answered', status: 404, jitter: 0 }, now)
  const mute = step(unknownOrigin, { kind: 'unanswered', reason: 'timeout', jitter: 0 }, now)
  const old = step(ok, { kind: 'answered', status: 503, jitter: 0 }, now + 1)
  const asking = step(unknownOrigin, { kind: 'asked', fence: 1, until: now + 1 }, now)
  expect([unknownOrigin, asking, ok, gone, mute, old].map(robotsWord)).toEqual([
    'not fetched yet',
    'being fetched',
    'rules',
    'none (404)',
    'no answer (timeout)',
    'old rules (now 503)',
  ])
})

test('a block is told before anything else; without an end it says that a hand must open it', () => {
  const until = 4_102_444_800_000
  const blocked = { until, reason: 'court order' }
  const paused = { until: now + 90_000, reason: 'moving' }
  const closed: LaneView['closed'] = [
    { gate: 'blocked', until },
    { gate: 'paused', until: paused.until },
  ]
  const why = whyItWaits({ ...lane, due: until, closed }, { ...origin, blocked, paused }, part)
  expect(why).toEqual({
    state: 'blocked',
    sentence: 'blocked by the operator: court order; its URLs end as refused; and paused by the operator: moving',
  })
  expect(dueIn({ ...lane, due: until }, why, now)).toBe('by hand')
})

test('a lane without URLs is idle, whether its delay is over or not', () => {
  const idle: LaneView = { ...lane, waiting: 0, state: 'idle' }
  const why = whyItWaits(idle, origin, part)
  expect(why).toEqual({ state: 'idle', sentence: 'no URL waits' })
  expect(dueIn(idle, why, now), 'nothing is due').toBe('–')
  expect(whyItWaits({ ...idle, due: now + 3_000 }, origin, part)).toMatchObject({ state: 'idle', until: now + 3_000 })
})

test('when a lane opens: now, in a while, or not to be said', () => {
  const of = (more: Partial<LaneView>) => ({ ...lane, ...more })
  const opens = (one: LaneView) => dueIn(one, whyItWaits(one, origin, part), now)
  expect(opens(of({ state: 'in-flight' }))).toBe('–')
  expect(opens(of({ due: now }))).toBe('now')
  expect(opens(of({ due: now + 4_000 }))).toBe('4 s')
})
