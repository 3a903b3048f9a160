/** The ledger's time as replies tell it: never ahead, and as near as the quickest reply. */

import { clockRate, redisClock } from '@decorum/ledger/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test('the quickest reply counts, a late one does not set the clock back', () => {
  let monotonic = 0
  const clock = redisClock({ monotonic: () => monotonic })
  clock.seen(1_000_000, 0) // read at once
  monotonic = 100
  clock.seen(1_000_060, 60) // written 40 ms before it was read
  expect(clock.now()).toBeGreaterThan(1_000_099)
  expect(clock.now()).toBeLessThanOrEqual(1_000_100)
})

test('a reply that this process read half a minute late, because it stood still, does not set the clock back', () => {
  let monotonic = 0
  const clock = redisClock({ monotonic: () => monotonic })
  clock.seen(1_000_000, 0)
  monotonic = 30_100
  clock.seen(1_000_105, 100)
  expect(clock.now()).toBeGreaterThan(1_030_000)
})

test('a clock that was set back is followed by the next reply that shows it', () => {
  let monotonic = 0
  const clock = redisClock({ monotonic: () => monotonic })
  clock.seen(1_000_000, 0)
  monotonic = 100
  clock.seen(1_000_050, 90) // 40 ms less than before at least
  expect(clock.now()).toBe(1_000_050)
})

test.each([1, 20, 200])(
  'a process whose clock runs 5 %% fast is ahead by what that makes since its latest reply, and by the way there: %i ms a call',
  (trip) => {
    let truth = 0
    const clock = redisClock({ monotonic: () => truth * 1.05 })
    for (let call = 0; call < 300; call++) {
      const askedAt = truth * 1.05
      truth += trip
      clock.seen(1_000_000 + truth - trip / 2, askedAt) // written half way
      for (const passes of [0, 250, 250, 500]) {
        truth += passes
        expect(clock.now() - (1_000_000 + truth)).toBeLessThanOrEqual(0.05 * 1_000 + 1.05 * trip)
      }
    }
  },
)

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
        const clock = redisClock({ monotonic: () => monotonic })
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
  const clock = redisClock({ monotonic: () => monotonic })
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
  const clock = redisClock({ monotonic: () => monotonic })
  clock.seen(1_000_000, 0)
  monotonic = 4_999
  expect(clock.most()).toBeUndefined()
  monotonic = 5_000
  expect(clock.most()).toBeGreaterThanOrEqual(1_005_000)
})

/** A Redis whose clock runs at `rate` of this process's, called once a second. */
function called() {
  let monotonic = 0
  let time = 1_800_000_000_000
  const rate = clockRate({ monotonic: () => monotonic })
  return {
    rate,
    /** @param trip  what each call takes, of which it is half way when it is written */
    pass(ms: number, speed: number, trip: (call: number) => number = () => 2): void {
      for (const end = monotonic + ms; monotonic < end;) {
        const askedAt = monotonic
        const took = trip(askedAt)
        monotonic += took
        time += took * speed
        rate.seen(time - (took / 2) * speed, askedAt)
        const left = Math.max(0, 1_000 - took)
        monotonic += left
        time += left * speed
      }
    },
    step(ms: number): void {
      time += ms
    },
  }
}

test('a clock that is slewed by 8.33 % is noticed within 16 s, no less of it than there is, and so is its end', () => {
  const { rate, pass } = called()
  pass(60_000, 1)
  expect(rate.excess()).toBe(0)
  pass(16_000, 1.0833) // the stretch in which it began, and two more
  expect(rate.excess()).toBeGreaterThanOrEqual(1 - 1 / 1.0833)
  expect(rate.excess()).toBeLessThan(0.079)
  pass(12_000, 1)
  expect(rate.excess()).toBe(0)
})

test('over a slow link it takes longer', () => {
  const { rate, pass } = called()
  pass(60_000, 1.0833, () => 100)
  expect(rate.excess()).toBeGreaterThanOrEqual(1 - 1 / 1.0833)
  expect(rate.excess()).toBeLessThan(0.087)
})

test.each([
  [1.0005, 'as ntpd slews'],
  [0.92, 'slewed back'],
])('a clock at %d of the own one, %s, is not a fast one', (speed) => {
  const { rate, pass } = called()
  pass(300_000, speed)
  expect(rate.excess()).toBe(0)
})

test('a clock that steps is not a fast one', () => {
  const { rate, pass, step } = called()
  for (let minute = 0; minute < 10; minute++) {
    for (let second = 0; second < 60; second++) {
      pass(1_000, 1)
      expect(rate.excess()).toBe(0)
    }
    step(minute < 5 ? 900 : 86_400_000)
  }
})

test('whatever the replies take, a clock that runs as the own one is never called fast', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1 }), (trips) => {
      const { rate, pass } = called()
      for (const trip of trips) {
        pass(1_000, 1, () => trip)
        expect(rate.excess()).toBe(0)
      }
    }),
  )
})
