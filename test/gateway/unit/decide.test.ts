/** What becomes of a lane that was taken, case by case. */

import { loadAgents, UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import { decide, decideUnknown } from '@decorum/gateway/testing'
import type { ReservedLane } from '@decorum/ledger'
import { judge, parseRobots, policies, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import { expect, test } from 'vitest'

const NOW = 1_800_000_000_000
const agent = loadAgents({ defaultDelayMs: 1_000, maxDelayMs: 10_000, contact: 'https://bot.example/' }).default

const head = (path: string, more: object = {}) => ({
  id: path.slice(1),
  path,
  expiresAt: NOW + 60_000,
  hops: 0,
  priority: 'normal' as const,
  ...more,
})

const lane = (state: RobotsState, more: Partial<ReservedLane> = {}): ReservedLane => ({
  agent: agent.key,
  origin: 'http://site.example',
  fence: 7,
  notBefore: NOW,
  waitMs: 0,
  tries: 0,
  urls: [head('/a')],
  robots: { version: 3, state },
  now: NOW,
  wallAt: NOW,
  ...more,
})

const served = (state: RobotsState, status: number, at = NOW - 1_000) =>
  step(state, { kind: 'answered', status, hash: 'h', jitter: 0 }, at)
const silent = (
  state: RobotsState,
  reason: 'blocked-address' | 'blocked-port' | 'nxdomain' | 'timeout',
  at = NOW - 1_000,
) => step(state, { kind: 'unanswered', reason, jitter: 0 }, at)

const decided = (taken: ReservedLane, robotsTxt = '', asked = agent) => {
  const rules = parseRobots(robotsTxt)
  return decide(taken, asked, {
    judge: (path) => judge({ ...taken.robots.state, rules }, taken.origin + path, agent.name, policies.decorum, NOW),
    rules,
    maxAttempts: 5,
    reserveMs: 30_000,
    wallNow: () => NOW,
  })
}

test('a cold origin: the first order is its robots.txt, the URL keeps its place', () => {
  const { order, resolution } = decided(lane(unknownOrigin))
  expect(order).toMatchObject({ kind: 'robots', path: '/robots.txt', fence: 7, version: 3 })
  expect(resolution).toMatchObject({ dropped: [], next: { kind: 'keep' } })
})

test('an allowed URL becomes a page order with the delay that the rules owe', () => {
  const { order } = decided(lane(served(unknownOrigin, 200)), 'user-agent: *\ncrawl-delay: 2.5')
  expect(order).toMatchObject({ kind: 'page', path: '/a', delayMs: 2_500, attempt: 1 })
})

/** It is 8:00 UTC. */
test.each([
  ['0600-0845', 0],
  ['0600 0845', 0],
  ['0801-0900', 60_000],
  ['2200-0600', 14 * 3_600_000],
  ['2200-0801', 0],
  ['0600-0800', 22 * 3_600_000],
  ['0800-0801, please', 0],
  ['0800-0800', 0],
  ['0000-2400', 0],
])('Visit-time: %s holds pages for %i ms, where the agent keeps to it', (value, waitMs) => {
  const robotsTxt = `user-agent: *\nvisit-time: ${value}`
  const expiresAt = NOW + 48 * 3_600_000
  const taken = lane(served(unknownOrigin, 200), { urls: [head('/a', { expiresAt })] })
  expect(decided(taken, robotsTxt).order).toMatchObject({ kind: 'page' })
  const { order, resolution } = decided(taken, robotsTxt, { ...agent, honourVisitTime: true })
  if (waitMs === 0) expect(order).toMatchObject({ kind: 'page' })
  else expect(resolution.next).toEqual({ kind: 'defer', until: NOW + waitMs, why: 'visiting-hours' })
})

test('Visit-time: nothing is ordered that might be started after its end, and any of several hours will do', () => {
  const robotsTxt = 'user-agent: *\nvisit-time: 0600-0801\nvisit-time: 1000-1100'
  const keeps = { ...agent, honourVisitTime: true }
  const at = (ms: number) => {
    const now = NOW + ms
    const urls = [head('/a', { expiresAt: NOW + 48 * 3_600_000 })]
    return decided(lane(served(unknownOrigin, 200), { now, wallAt: now, urls }), robotsTxt, keeps)
  }
  expect(at(27_000).order).toMatchObject({ kind: 'page' })
  expect(at(28_000).resolution.next).toMatchObject({ kind: 'defer', until: NOW + 2 * 3_600_000 })
})

test('a lane that is due when the hours begin, or behind a back-off, is ordered ahead for that instant, not deferred in a loop', () => {
  const urls = [head('/a', { expiresAt: NOW + 48 * 3_600_000 })]
  const before = { now: NOW + 59_950, wallAt: NOW + 59_950, urls }
  const asked = (notBefore: number) =>
    decided(lane(served(unknownOrigin, 200), { ...before, notBefore }), 'user-agent: *\nvisit-time: 0801-0900', {
      ...agent,
      honourVisitTime: true,
    })
  expect(asked(NOW + 60_000).order).toMatchObject({ kind: 'page', notBefore: NOW + 60_000 })
  expect(asked(NOW + 59_999).resolution.next).toMatchObject({ kind: 'defer', until: NOW + 60_000 })
  const behind = lane(served(unknownOrigin, 404), { closedUntil: NOW + 30, notBefore: NOW + 50 })
  expect(decided(behind).order).toMatchObject({ kind: 'page', notBefore: NOW + 50 })
})

test('a lane that is due later is closed by no Visit-time where none holds, whatever fractions of a millisecond its instants have', () => {
  const { random } = Math
  for (let n = 0; n < 1_000; n++) {
    const [now, wallAt] = [NOW + random() * 1_000, NOW + random() * 1_000]
    const due = lane(served(unknownOrigin, 404), { now, wallAt, notBefore: now + random() * 30_000 })
    expect(decided(due), `${now} ${wallAt} ${due.notBefore}`).toMatchObject({ order: { kind: 'page' } })
  }
})

test('a page is asked for as its candidate wants it, its robots.txt is not', () => {
  const urls = [head('/a', { request: { method: 'HEAD', maxBytes: 9 } })]
  const known = decided(lane(served(unknownOrigin, 200), { urls }))
  expect(known.order).toMatchObject({ kind: 'page', request: { method: 'HEAD', maxBytes: 9 } })
  const cold = decided(lane(unknownOrigin, { urls }))
  expect(cold.order).toMatchObject({ kind: 'robots' })
  expect(cold.order).not.toHaveProperty('request')
})

test('the delay that is known is owed while the rules are out of force, by a robots order as by a page', () => {
  const known = { delayMs: 3_000 }
  expect(decided(lane(unknownOrigin, known)).order).toMatchObject({ kind: 'robots', delayMs: 3_000 })
  expect(decided(lane(unknownOrigin, { ...known, refetch: true })).order).toMatchObject({ delayMs: 3_000 })
  const longer = decided(lane(served(unknownOrigin, 200), known), 'user-agent: *\ncrawl-delay: 5')
  expect(longer.order).toMatchObject({ delayMs: 5_000 })
})

test('what was recorded under a longer least delay of the agent does not outlive that: the rules at hand decide', () => {
  const known = { delayMs: 3_000 }
  expect(decided(lane(served(unknownOrigin, 404), known)).order).toMatchObject({ kind: 'page', delayMs: 1_000 })
  const slow = 'user-agent: *\ncrawl-delay: 2'
  expect(decided(lane(served(unknownOrigin, 200), known), slow).order).toMatchObject({ delayMs: 2_000 })
})

test('a crawl-delay above the cap is clamped to it', () => {
  expect(decided(lane(served(unknownOrigin, 200)), 'user-agent: *\ncrawl-delay: 100').order).toMatchObject({
    delayMs: 10_000,
  })
})

test('forbidden urls leave with the rule that forbids them; the first allowed one is ordered', () => {
  const taken = lane(served(unknownOrigin, 200), { urls: [head('/x/1'), head('/x/2'), head('/ok')] })
  const { order, resolution } = decided(taken, 'user-agent: *\ndisallow: /x')
  expect(resolution.dropped.map(({ id, kind }) => [id, kind])).toEqual([
    ['x/1', 'disallowed'],
    ['x/2', 'disallowed'],
  ])
  expect(resolution.dropped[0]).toMatchObject({ rule: 'disallow: /x', line: 2, group: ['*'] })
  expect(order).toMatchObject({ path: '/ok', attempt: 1 })
})

test('when every URL shown is forbidden, the lane is released at once', () => {
  const { order, resolution } = decided(lane(served(unknownOrigin, 200)), 'user-agent: *\ndisallow: /')
  expect(order).toBeUndefined()
  expect(resolution.next).toEqual({ kind: 'release' })
})

test('an unreachable robots.txt defers the lane: nothing is dropped, and never beyond the expiry of the first URL', () => {
  const state = served(unknownOrigin, 503)
  const { resolution } = decided(lane(state))
  expect(resolution).toMatchObject({ dropped: [], next: { kind: 'defer', why: 'robots-unreachable' } })
  const brief = decided(lane(state, { urls: [head('/a', { expiresAt: NOW + 10 })] }))
  expect(brief.resolution.next).toMatchObject({ kind: 'defer', until: NOW + 10 })
})

test('a robots fetch in flight is waited for, not started twice', () => {
  const state = step(unknownOrigin, { kind: 'asked', fence: 3, until: NOW + 5_000 }, NOW)
  expect(decided(lane(state)).resolution.next).toEqual({
    kind: 'defer',
    until: NOW + 5_000,
    why: 'robots-in-flight',
  })
})

test('an expired URL leaves as expired and names the gate that held it', () => {
  const urls = [head('/old', { expiresAt: NOW }), head('/new')]
  const { resolution, order } = decided(lane(served(unknownOrigin, 404), { urls, heldBy: 'back-off' }))
  expect(resolution.dropped).toMatchObject([{ id: 'old', kind: 'expired', reason: 'back-off' }])
  expect(order).toMatchObject({ path: '/new' })
})

test('a URL whose fetchers all died fails when its attempts are spent; the next starts at its first', () => {
  const taken = lane(served(unknownOrigin, 404), { tries: 5, urls: [head('/poison'), head('/next')] })
  const { resolution, order } = decided(taken)
  expect(resolution.dropped).toMatchObject([{ id: 'poison', kind: 'failed', reason: 'lease-expired', attempts: 5 }])
  expect(order).toMatchObject({ path: '/next', attempt: 1 })
})

test('a site in back-off gets no order, whatever its rules allow', () => {
  const { resolution, order } = decided(lane(served(unknownOrigin, 404), { closedUntil: NOW + 3_000 }))
  expect(order).toBeUndefined()
  expect(resolution.next).toEqual({ kind: 'defer', until: NOW + 3_000, why: 'back-off' })
})

test.each(['blocked-address', 'blocked-port'] as const)('an origin refused as %s ends its URLs at once', (reason) => {
  const { resolution } = decided(lane(silent(unknownOrigin, reason), { urls: [head('/a'), head('/b')] }))
  expect(resolution.dropped).toMatchObject([
    { kind: 'failed', reason },
    { kind: 'failed', reason },
  ])
})

test('a name that does not exist ends its URLs after as many tries as a URL has, not before', () => {
  let state: RobotsState = unknownOrigin
  for (let times = 1; times <= 4; times++) state = silent(state, 'nxdomain')
  expect(decided(lane(state)).resolution.dropped).toEqual([])
  state = silent(state, 'nxdomain')
  expect(decided(lane(state)).resolution.dropped).toMatchObject([{ kind: 'failed', reason: 'dns' }])
})

test('a refresh that is due is one more order; the page keeps its place behind it', () => {
  const old = served(unknownOrigin, 200, NOW - 23 * 3_600_000)
  expect(decided(lane(old)).order).toMatchObject({ kind: 'robots' })
  const asked = step(old, { kind: 'asked', fence: 3, until: NOW + 5_000 }, NOW)
  expect(decided(lane(asked)).order).toMatchObject({ kind: 'page' })
})

test('a blocked origin ends its URLs as refused, before anything else is asked', () => {
  const { resolution, order } = decided(lane(unknownOrigin, { blocked: 'they asked us to stay away' }))
  expect(order).toBeUndefined()
  expect(resolution.dropped).toMatchObject([{ kind: 'refused', reason: 'blocked-by-operator', attempts: 0 }])
})

test("an operator's refetch comes before the verdict, allowed or not", () => {
  const state = served(unknownOrigin, 200)
  const { order, resolution } = decided(lane(state, { refetch: true }), 'user-agent: *\ndisallow: /')
  expect(order).toMatchObject({ kind: 'robots' })
  expect(resolution.dropped).toEqual([])
})

test("an operator's refetch waits for the robots fetch that is in flight: an order for the page would be refused again and again", () => {
  const state = step(served(unknownOrigin, 200), { kind: 'asked', fence: 3, until: NOW + 5_000 }, NOW)
  const { order, resolution } = decided(lane(state, { refetch: true }), '')
  expect(order).toBeUndefined()
  expect(resolution.next).toEqual({ kind: 'defer', until: NOW + 5_000, why: 'robots-in-flight' })
})

test('an agent that is not ours: what has expired ends as expired, the next URL waits a while, no longer than it lives', () => {
  const gone = (...urls: ReservedLane['urls']) =>
    decideUnknown(lane(unknownOrigin, { agent: 'gone-bot', tries: 2, urls }), () => NOW)
  const past = { expiresAt: NOW }
  const { resolution, order } = gone(
    head('/a', past),
    head('/b', { ...past, meta: { n: 1 } }),
    head('/c'),
    head('/d', past),
  )
  expect(order).toBeUndefined()
  const common = { agent: 'gone-bot', kind: 'expired', reason: 'unknown-agent', at: NOW }
  expect(resolution).toEqual({
    agent: 'gone-bot',
    origin: 'http://site.example',
    fence: 7,
    dropped: [
      { ...common, id: 'a', url: 'http://site.example/a', attempts: 2 },
      { ...common, id: 'b', url: 'http://site.example/b', attempts: 0, meta: { n: 1 } },
    ],
    next: { kind: 'defer', until: NOW + UNKNOWN_AGENT_WAIT_MS, why: 'unknown-agent' },
  })
  const brief = gone(head('/a', { expiresAt: NOW + 10 })).resolution
  expect(brief).toMatchObject({ dropped: [], next: { kind: 'defer', until: NOW + 10 } })
  expect(gone(head('/a', past)).resolution.next).toEqual({ kind: 'release' })
})
