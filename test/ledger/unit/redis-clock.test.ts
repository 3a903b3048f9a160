/** The ledger's time as replies tell it: never ahead, and as near as the quickest reply. */

import { redisClock } from '@decorum/ledger/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test('the quickest reply counts, a late one does not set the clock back', () => {
  let monotonic = 0
  const clock = redisClock(() => monotonic)
  clock.seen(1_000_000, 0) // read at once
  monotonic = 100
  clock.seen(1_000_060, 60) // written 40 ms before it was read
  expect(clock.now()).toBeGreaterThan(1_000_099)
  expect(clock.now()).toBeLessThanOrEqual(1_000_100)
})

test('a reply that this process read half a minute late, because it stood still, does not set the clock back', () => {
  let monotonic = 0
  const clock = redisClock(() => monotonic)
  clock.seen(1_000_000, 0)
  monotonic = 30_100
  clock.seen(1_000_105, 100)
  expect(clock.now()).toBeGreaterThan(1_030_000)
})

test('a clock that was set back by more than a few seconds is followed', () => {
  let monotonic = 0
  const clock = redisClock(() => monotonic)
  clock.seen(1_000_000, 0)
  monotonic = 10
  clock.seen(940_000, 0)
  expect(clock.now()).toBe(940_000)
})

test('whatever the delays, and with clocks that part by up to 0.05 %, it is never ahead and behind by no more than the best delay and the drift', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ pass: fc.integer({ min: 0, max: 60_000 }), delay: fc.integer({ min: 0, max: 30_000 }) }), {
        minLength: 1,
      }),
      fc.double({ min: -0.0005, max: 0.0005, noNaN: true }),
      (replies, skew) => {
        let monotonic = 0
        const truth = (): number => 1_000_000 + monotonic * (1 + skew)
        const clock = redisClock(() => monotonic)
        let last = 0
        for (const { pass, delay } of replies) {
          monotonic += pass
          const asked = monotonic
          monotonic += delay
          clock.seen(1_000_000 + (monotonic - delay) * (1 + skew), asked)
          last = delay
          expect(clock.now()).toBeLessThanOrEqual(truth() + 1e-6)
        }
        expect(clock.now()).toBeGreaterThanOrEqual(truth() - last * (1 + Math.abs(skew)) - 1e-6)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('the time that a process can vouch for is never behind the truth, and no further ahead than the quickest call took', () => {
  let monotonic = 0
  const clock = redisClock(() => monotonic)
  expect(clock.most(), 'nothing was seen yet').toBeUndefined()
  for (let call = 0; call < 10; call++) {
    const askedAt = monotonic
    monotonic += call === 4 ? 2 : 300 // there
    const redisMs = 1_000_000 + monotonic
    monotonic += 300 // and back
    clock.seen(redisMs, askedAt)
    monotonic += 700
  }
  const most = clock.most() ?? 0
  expect(most).toBeGreaterThanOrEqual(1_000_000 + monotonic)
  expect(most).toBeLessThanOrEqual(1_000_000 + monotonic + 2 + monotonic * 0.001)
})

test('a process that has known the ledger for less than five seconds vouches for nothing', () => {
  let monotonic = 0
  const clock = redisClock(() => monotonic)
  clock.seen(1_000_000, 0)
  monotonic = 4_999
  expect(clock.most()).toBeUndefined()
  monotonic = 5_000
  expect(clock.most()).toBeGreaterThanOrEqual(1_005_000)
})
