/** The one sentence about an origin. */

import type { DescribedLane, DescribedOrigin, Why } from '@decorum/console/inside'
import { originHeadline } from '@decorum/console/inside'
import { expect, test } from 'vitest'

const now = 1_800_000_000_000
const lane = (why: Why, waiting = 1): DescribedLane => ({
  agent: 'bot',
  origin: 'http://a.example',
  waiting,
  state: waiting > 0 ? 'waiting' : 'idle',
  tries: 0,
  closed: [],
  why,
})
const origin = (...lanes: DescribedLane[]): DescribedOrigin => ({
  origin: 'http://a.example',
  version: 1,
  state: {},
  robots: 'rules',
  delays: [],
  lanes,
  now,
})

test('the strongest reason among the lanes, with its end and the URLs of all', () => {
  const delayed = lane({ state: 'delay', sentence: 'waits for its delay of 5 s to end', until: now + 3_000 }, 2)
  const backOff = lane({ state: 'back-off', sentence: 'backing off', until: now + 60_000 }, 3)
  expect(originHeadline(origin(delayed, backOff))).toEqual({
    tone: 'halted',
    title: 'Backing off',
    sentence: 'Backing off; for another 1 min. 5 URLs wait.',
  })
  expect(originHeadline(origin(delayed))).toMatchObject({ tone: 'polite', title: 'Waiting for its delay' })
})

test('what opens by hand alone says so', () => {
  const paused = lane({ state: 'paused', sentence: 'paused by the operator: legal' })
  expect(originHeadline(origin(paused)).sentence).toBe(
    'Paused by the operator: legal, until somebody ends it. 1 URL waits.',
  )
})

test.each([
  ['visiting hours', 'Outside its visiting hours'],
  ['budget', 'Its requests for today are spent'],
] as const)('an origin that waits for its %s is not said to have nothing to do', (state, title) => {
  const waiting = lane({ state, sentence: 'waits', until: now + 60_000 })
  expect(originHeadline(origin(waiting))).toEqual({
    tone: 'halted',
    title,
    sentence: 'Waits; for another 1 min. 1 URL waits.',
  })
})

test('an origin with nothing to do is calm', () => {
  const idle = lane({ state: 'idle', sentence: 'no URL waits' }, 0)
  expect(originHeadline(origin(idle))).toEqual({ tone: 'calm', title: 'Nothing waits', sentence: 'No URL waits.' })
})
