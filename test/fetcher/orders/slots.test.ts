import { openSlots } from '@decorum/fetcher/testing'
import { expect, test } from 'vitest'

/** Tasks that end when they are told to. */
function rig(count: number) {
  const slots = openSlots(count)
  const started: string[] = []
  const end = new Map<string, () => void>()
  const place = (name: string) =>
    slots.place(() => {
      started.push(name)
      return new Promise((done) => end.set(name, done))
    })
  return { slots, started, end, place }
}

test('what finds a slot starts at once, the rest in the order it came', async () => {
  const { slots, started, end, place } = rig(2)
  expect([place('a'), place('b')]).toEqual([undefined, undefined])
  const [c, d] = [place('c'), place('d')]
  expect([started, slots.taken, slots.waiting]).toEqual([['a', 'b'], 2, 2])
  end.get('b')?.()
  await c
  expect([started, slots.waiting]).toEqual([['a', 'b', 'c'], 1])
  end.get('a')?.()
  await d
  expect([started, slots.taken, slots.waiting]).toEqual([['a', 'b', 'c', 'd'], 2, 0])
})

test('more slots start what waits, fewer end nothing', async () => {
  const { slots, started, end, place } = rig(1)
  for (const name of 'abcd') void place(name)
  slots.size = 3
  expect(started).toEqual(['a', 'b', 'c'])
  slots.size = 1
  end.get('a')?.()
  end.get('b')?.()
  await expect.poll(() => slots.taken).toBe(1)
  expect([started, slots.waiting]).toEqual([['a', 'b', 'c'], 1])
})

test('empty: nothing is under way and nothing waits', async () => {
  const { slots, end, place } = rig(1)
  await slots.empty()
  void place('a')
  void place('b')
  let isEmpty = false
  const empty = slots.empty().then(() => {
    isEmpty = true
  })
  end.get('a')?.()
  await expect.poll(() => end.has('b')).toBe(true)
  expect(isEmpty).toBe(false)
  end.get('b')?.()
  await empty
})
