/** Which policy counts for a host, and when a site is open. */
import { delayUnder, opensAt, policyOf, policySentence, sitesOf } from '@decorum/politeness'
import { expect, test } from 'vitest'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MIDNIGHT = 20_000 * DAY

test('sites of a host, the most specific first', () => {
  expect(sitesOf('a.b.example')).toEqual([
    ...['a.b.example', 'domain:a.b.example'],
    ...['*.b.example', 'domain:b.example'],
    ...['*.example', 'domain:example'],
  ])
  expect(sitesOf('[2001:db8::1]')).toEqual(['[2001:db8::1]', 'domain:[2001:db8::1]'])
})

test('one policy counts, as a whole', () => {
  const policies = {
    'domain:b.example': { delayMs: 5_000, hours: '01:00-02:00' },
    '*.b.example': { requestsPerDay: 3 },
  }
  expect(policyOf(policies, 'a.b.example')).toEqual({ site: '*.b.example', requestsPerDay: 3 })
  expect(policyOf(policies, 'b.example')).toMatchObject({ site: 'domain:b.example' })
  expect(policyOf(policies, 'ab.example')).toBeUndefined()
})

test('a delay under a policy is longer, or whatever was consented to', () => {
  expect(delayUnder({}, 1_000)).toBe(1_000)
  expect(delayUnder({ delayMs: 500 }, 1_000)).toBe(1_000)
  expect(delayUnder({ delayMs: 5_000 }, 1_000)).toBe(5_000)
  expect(delayUnder({ delayMs: 0, consent: 'ann' }, 1_000)).toBe(0)
})

test.each([
  ['in the middle', { from: 480, to: 600 }, 9 * HOUR, 9 * HOUR],
  ['at the first instant', { from: 480, to: 600 }, 8 * HOUR, 8 * HOUR],
  ['at the end', { from: 480, to: 600 }, 10 * HOUR, 32 * HOUR],
  ['before', { from: 480, to: 600 }, 7 * HOUR, 8 * HOUR],
  ['over midnight, late', { from: 1_320, to: 360 }, 23 * HOUR, 23 * HOUR],
  ['over midnight, early', { from: 1_320, to: 360 }, 5 * HOUR, 5 * HOUR],
  ['over midnight, by day', { from: 1_320, to: 360 }, 6 * HOUR, 22 * HOUR],
  ['to midnight', { from: 1_320, to: 1_440 }, 24 * HOUR, 46 * HOUR],
])('hours, %s', (_, hours, at, opens) => {
  expect(opensAt(hours, MIDNIGHT + at)).toBe(MIDNIGHT + opens)
})

test('a policy is told in one sentence', () => {
  const policy = {
    site: 'a.example',
    delayMs: 100,
    consent: 'ann',
    hours: '22:00-06:00',
    requestsPerDay: 9,
    requestsToday: 2,
  }
  expect(policySentence(policy, (ms) => `${ms} ms`)).toBe(
    'a.example: a delay of 100 ms, by consent: ann; visits 22:00-06:00 UTC; at most 9 requests a day (2 today)',
  )
})
