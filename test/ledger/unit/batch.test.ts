/** Calls of one turn as one call. */

import { batched } from '@decorum/ledger/testing'
import { systemClock } from '@decorum/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'

test('what is asked in one turn goes in one call, and each gets its own answer', async () => {
  const calls: number[][] = []
  const double = batched(systemClock, 'start', async (items: number[]) => {
    calls.push(items)
    return items.map((item) => item * 2)
  })
  expect(await Promise.all([double(1), double(2), double(3)])).toEqual([2, 4, 6])
  expect(await double(4)).toBe(8)
  expect(calls).toEqual([[1, 2, 3], [4]])
})

test('more than a call may carry goes in several', async () => {
  const sizes: number[] = []
  const same = batched(
    systemClock,
    'start',
    async (items: number[]) => {
      sizes.push(items.length)
      return items
    },
    { most: 3 },
  )
  expect(await Promise.all(Array.from({ length: 8 }, (_, i) => same(i)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(sizes).toEqual([3, 3, 2])
})

test('items of several sizes fill a call; one that is larger by itself goes alone', async () => {
  const calls: number[][] = []
  const same = batched(
    systemClock,
    'start',
    async (items: number[]) => {
      calls.push(items)
      return items
    },
    { most: 5, sizeOf: (size) => size },
  )
  await Promise.all([2, 3, 1, 9, 4].map(same))
  expect(calls).toEqual([[2, 3], [1], [9], [4]])
})

test.each([
  ['fewer', 1],
  ['more', 3],
])('%s answers than items: nobody is answered, because whose is missing is unknown', async (_, count) => {
  const short = batched(systemClock, 'grant', async (items: number[]) => Array.from({ length: count }, () => items[0]))
  const results = await Promise.allSettled([short(1), short(2)])
  for (const result of results)
    expect(result).toMatchObject({ status: 'rejected', reason: { name: 'LedgerUnavailableError' } })
})

test('a failure is everybody’s of that call, and nobody else’s', async () => {
  const picky = batched(
    systemClock,
    'start',
    async (items: number[]) => {
      if (items.includes(2)) throw new Error('not two')
      return items
    },
    { most: 2 },
  )
  const results = await Promise.allSettled([picky(1), picky(2), picky(3)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})

test('a call that fails before it is sent rejects; it does not bring the process down', async () => {
  const broken = batched(
    systemClock,
    'start',
    (_: number[]): Promise<number[]> => {
      throw new TypeError('not even sent')
    },
    { most: 2 },
  )
  await expect(broken(1)).rejects.toThrow('not even sent')
})

test('what can wait goes with what comes within its time; what cannot takes all that wait along', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const calls: number[][] = []
  const waiting = batched(
    systemClock,
    'start',
    async (items: number[]) => {
      calls.push(items)
      return items
    },
    { waits: (ms) => ms },
  )
  const answers = [waiting(20), waiting(30)]
  await vi.advanceTimersByTimeAsync(10)
  answers.push(waiting(5))
  await vi.advanceTimersByTimeAsync(4)
  expect(calls).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(calls).toEqual([[20, 30, 5]])
  answers.push(waiting(20), waiting(0))
  await vi.advanceTimersByTimeAsync(0)
  expect(calls).toEqual([
    [20, 30, 5],
    [20, 0],
  ])
  expect(await Promise.all(answers)).toEqual([20, 30, 5, 20, 0])
  await vi.advanceTimersByTimeAsync(100)
  expect(calls).toHaveLength(2)
})
