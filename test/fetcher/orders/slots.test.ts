import { openSlots } from '@decorum/fetcher/testing'
import { systemClock } from '@decorum/protocol'
import { expect, test } from 'vitest'

/** Tasks that end when they are told to. */
function rig(count: number) {
  const slots = openSlots(systemClock, count)
  const started: string[] = []
  const end = new Map<string, () => void>()
  const leave = new Map<string, (until: Promise<void>) => void>()
  const back: string[] = []
  const away: string[] = []
  const place = (name: string, groups = ['all']) =>
    slots.place({
      groups,
      run(outside) {
        started.push(name)
        return new Promise<void>((done) => {
          end.set(name, done)
          leave.set(name, (until) => void outside(() => until).then(() => back.push(name)))
        })
      },
      turnAway: (group) => void away.push(`${name}: ${group}`),
    })
  return { slots, started, end, leave, back, away, place }
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

test('a group that holds its share is turned away while others need the slots, and what waits for it goes on', async () => {
  const { slots, started, end, away, place } = rig(4)
  for (const name of 'abc') void place(name, ['slow'])
  void place('x', ['quick'])
  const y = place('y', ['quick'])
  void place('d', ['slow'])
  end.get('a')?.()
  await y
  expect([started, away]).toEqual([['a', 'b', 'c', 'x', 'y'], ['d: slow']])
  expect([slots.taken, slots.waiting]).toEqual([4, 0])
})

test('a wait outside gives the slot up, and comes before orders that have not begun', async () => {
  const { slots, started, end, leave, back, place } = rig(1)
  const { promise: due, resolve } = Promise.withResolvers<void>()
  void place('hop')
  void place('next')
  void place('last')
  leave.get('hop')?.(due)
  await expect.poll(() => started).toEqual(['hop', 'next'])
  resolve()
  await expect.poll(() => slots.waiting).toBe(2)
  end.get('next')?.()
  await expect.poll(() => back).toEqual(['hop'])
  expect([started, slots.taken]).toEqual([['hop', 'next'], 1])
  end.get('hop')?.()
  await expect.poll(() => started).toEqual(['hop', 'next', 'last'])
})

test('empty waits for those outside, too', async () => {
  const { slots, end, leave, back, place } = rig(1)
  const { promise: due, resolve } = Promise.withResolvers<void>()
  void place('hop')
  leave.get('hop')?.(due)
  await expect.poll(() => slots.taken).toBe(0)
  let isEmpty = false
  const empty = slots.empty().then(() => {
    isEmpty = true
  })
  resolve()
  await expect.poll(() => back).toEqual(['hop'])
  expect(isEmpty).toBe(false)
  end.get('hop')?.()
  await empty
})
