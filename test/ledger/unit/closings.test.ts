import { type Closings, closingsOf } from '@decorum/ledger/testing'
import { type Clock, systemClock } from '@decorum/protocol'
import { expect, test } from 'vitest'

/** On a clock that each sleep moves, over a ledger that has lost everything. */
function opened(): { closings: Closings; written: string[]; slept: () => Promise<void> } {
  let now = 0
  let sleeping = Promise.withResolvers<void>()
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    async sleep(ms) {
      now += ms
      sleeping.resolve()
      sleeping = Promise.withResolvers()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
  const closings = closingsOf(clock, 60_000, {
    restore: async () => undefined,
    keptUntil: async () => 0,
    now: () => now,
  })
  return { closings, written: [], slept: () => sleeping.promise }
}

test('a pause that was lost is not written again while its end is under way, and so never behind it', async () => {
  const { closings, written, slept } = opened()
  const answered = Promise.withResolvers<void>()
  const pause = { origin: 'http://a.test', write: async () => void written.push('pause') }
  const resume = {
    origin: 'http://a.test',
    async write() {
      written.push('resume')
      await answered.promise
    },
  }
  await closings.operate(pause)
  const resuming = closings.operate(resume)
  const again = closings.writeAgain()
  await slept()
  expect(written).toEqual(['pause', 'resume'])
  answered.resolve()
  await resuming
  await again
  expect(written).toEqual(['pause', 'resume', 'pause', 'resume'])
})

test('nor is it written behind an end that came while others were written again', async () => {
  const { closings, written } = opened()
  const other = Promise.withResolvers<void>()
  let times = 0
  await closings.operate({ origin: 'http://b.test', write: () => (times++ === 0 ? Promise.resolve() : other.promise) })
  await closings.operate({ origin: 'http://a.test', write: async () => void written.push('pause') })
  const again = closings.writeAgain()
  await closings.operate({ origin: 'http://a.test', write: async () => void written.push('resume') })
  other.resolve()
  await again
  expect(written).toEqual(['pause', 'resume', 'pause', 'resume'])
})

test('an operation on another origin keeps nobody waiting, and one that failed is not written again', async () => {
  const { closings, written } = opened()
  await closings.operate({ origin: 'http://a.test', write: async () => void written.push('pause a') })
  await expect(
    closings.operate({ origin: 'http://a.test', write: () => Promise.reject(new Error('gone')) }),
  ).rejects.toThrow('gone')
  void closings.operate({ origin: 'http://b.test', write: () => new Promise(() => undefined) })
  await closings.writeAgain()
  expect(written).toEqual(['pause a', 'pause a'])
})

test('an end whose lease is over is written until the partition accepts it', async () => {
  let isAway = true
  const written: string[] = []
  const clock: Clock = { ...systemClock, monotonic: () => 0, sleep: () => new Promise((done) => setImmediate(done)) }
  const { endedLate } = closingsOf(clock, 60_000, {
    restore: async (some) => {
      written.push(some.map(({ lane }) => lane).join())
      if (isAway) throw new Error('Redis is away')
    },
    keptUntil: async () => 0,
    now: () => 0,
  })
  const end = { endedAt: 0, delayMs: 0, load: 'asked-for-less 0 9000 ' }
  endedLate({ ...end, lane: 'a' })
  endedLate({ ...end, lane: 'b' })
  await expect.poll(() => written).toContain('a,b')
  isAway = false
  await expect.poll(() => written.length).toBeGreaterThan(2)
  const before = written.length
  endedLate({ ...end, lane: 'c' })
  await expect.poll(() => written.slice(before).at(-1)).toMatch(/c$/)
})

test('after a day without an answer that end is forgotten, and a later one is written all the same', async () => {
  let now = 0
  let isAway = true
  const written: string[] = []
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    async sleep() {
      now += 3_600_000
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
  const { endedLate } = closingsOf(clock, 60_000, {
    restore: async (some) => {
      if (isAway) throw new Error('Redis is away')
      written.push(some.map(({ lane }) => lane).join())
    },
    keptUntil: async () => 0,
    now: () => 0,
  })
  const end = { endedAt: 0, delayMs: 0, load: 'asked-for-less 0 9000 ' }
  endedLate({ ...end, lane: 'a' })
  await expect.poll(() => now).toBeGreaterThanOrEqual(86_400_000)
  await new Promise((resolve) => setImmediate(resolve))
  isAway = false
  endedLate({ ...end, lane: 'b' })
  await expect.poll(() => written).toEqual(['b'])
})

test('of several late reports of one lane each is written again after a loss, whichever came last', async () => {
  const restored: number[] = []
  const { endedLate, ended, writeAgain } = closingsOf({ ...systemClock, monotonic: () => 0 }, 60_000, {
    restore: async (some) => void restored.push(...some.map(({ endedAt }) => endedAt)),
    keptUntil: async () => 0,
    now: () => 0,
  })
  const end = (endedAt: number) => ({ lane: 'a', delayMs: 0, load: 'asked-for-less 0 9000 ', endedAt })
  for (const at of [1, 2, 3]) endedLate(end(at))
  for (const at of [4, 5]) ended(end(at))
  await expect.poll(() => restored.length).toBe(3)
  restored.length = 0
  await writeAgain()
  expect(restored).toEqual([1, 2, 3, 5])
})
