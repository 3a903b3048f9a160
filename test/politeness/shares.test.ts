/** Who may take the next slot, with a clock that the test moves. */
import { Shares } from '@decorum/politeness'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const SECOND = 1_000
function sharesOf(size: number) {
  const clock = { ms: 0 }
  const shares = new Shares({ monotonic: () => clock.ms }, size)
  /** @returns how many of these it got */
  const take = (count: number, ...groups: string[]): number => {
    let taken = 0
    for (; taken < count && shares.taken < shares.size && shares.beyond(groups) === undefined; taken++)
      shares.take(groups)
    return taken
  }
  const leave = (count: number, ...groups: string[]): void => {
    for (let n = 0; n < count; n++) shares.leave(groups)
  }
  return { shares, clock, take, leave }
}

test('a group alone takes all slots', () => {
  const { take } = sharesOf(100)
  expect(take(200, 'a')).toBe(100)
})

test('a newcomer waits for the next slot that becomes free, and gets it', () => {
  const { shares, take, leave } = sharesOf(10)
  take(10, 'silent')
  shares.wait(['quick'])
  leave(1, 'silent')
  expect(shares.beyond(['silent'])).toBe('silent')
  expect(shares.beyond(['quick'])).toBeUndefined()
})

test('a group that holds its slots for long leaves those that the others lately needed together', () => {
  const { shares, take, leave, clock } = sharesOf(100)
  for (let n = 0; n < 5; n++) take(1, `site-${n}`)
  for (let n = 0; n < 5; n++) leave(1, `site-${n}`)
  clock.ms += 100
  take(100, 'silent')
  for (let n = 0; n < 30; n++) {
    clock.ms += SECOND // a page of each site a second
    for (let site = 0; site < 5; site++) expect(take(1, `site-${site}`)).toBe(1)
    take(100, 'silent')
    for (let site = 0; site < 5; site++) leave(1, `site-${site}`)
  }
  expect(shares.most(1)).toEqual([{ group: 'silent', held: 95 }])
  for (let n = 0; n < 4; n++) expect(take(1, `site-${n}`)).toBe(1)
})

test('what others needed is forgotten after a while, and then taken', () => {
  const { take, leave, clock } = sharesOf(10)
  take(3, 'a')
  leave(3, 'a')
  const early = take(10, 'b')
  expect(early).toBeGreaterThanOrEqual(5) // its share
  expect(early).toBeLessThanOrEqual(7)
  clock.ms += 60 * SECOND
  expect(take(10, 'b')).toBe(10 - early)
})

test('many groups that have one slot each are within their shares', () => {
  const { take } = sharesOf(100)
  for (let n = 0; n < 100; n++) expect(take(1, `site-${n}`)).toBe(1)
})

test('each way of grouping counts by itself: a token with a thousand hosts has one share', () => {
  const { shares, take, leave } = sharesOf(10)
  take(1, 'crawl', 'own.test')
  leave(1, 'crawl', 'own.test')
  let hosts = 0
  while (take(1, 'token', `host-${hosts}`) === 1) hosts++
  expect(hosts).toBeLessThan(10)
  expect(shares.beyond(['token', 'host-new'])).toBe('token')
  expect(take(1, 'crawl', 'own.test')).toBe(1)
})

test('those that hold most are named', () => {
  const { shares, take } = sharesOf(10)
  take(2, 'crawl:a', 'domain:a.test')
  take(3, 'crawl:b', 'domain:b.test')
  expect(shares.most(1, (group) => group.startsWith('crawl:'))).toEqual([{ group: 'crawl:b', held: 3 }])
})

/** Random requests of some groups: slots are taken in order, held for long or short, and what is beyond its share is turned away. */
const histories = fc.record({
  size: fc.integer({ min: 1, max: 40 }),
  steps: fc.array(
    fc.record({
      group: fc.constantFrom('a', 'b', 'c', 'd'),
      other: fc.constantFrom('x', 'y', 'z'),
      holdMs: fc.constantFrom(10, 1_000, 30_000),
      passMs: fc.constantFrom(0, 1, 50, 2_000),
    }),
    { maxLength: 300 },
  ),
})

test('nobody takes a slot beyond its share that another, within its own, waits for; and nobody waits for a free slot', () => {
  fc.assert(
    fc.property(histories, ({ size, steps }) => {
      const { shares, clock } = sharesOf(size)
      const running: { groups: string[]; endsAt: number }[] = []
      let waiting: string[][] = []
      const begin = (groups: string[], holdMs: number): void => {
        shares.take(groups)
        running.push({ groups, endsAt: clock.ms + holdMs })
      }
      const fill = (): void => {
        while (shares.taken < size && waiting.length > 0) {
          const groups = waiting.shift() as string[]
          shares.wait(groups, -1)
          if (shares.beyond(groups) === undefined) begin(groups, 10)
        }
      }
      for (const { group, other, holdMs, passMs } of steps) {
        clock.ms += passMs
        for (const [at, one] of [...running.entries()].toReversed())
          if (one.endsAt <= clock.ms) {
            running.splice(at, 1)
            shares.leave(one.groups)
            fill()
          }
        const groups = [group, other]
        const isBeyond = shares.beyond(groups) !== undefined
        if (isBeyond) continue
        if (shares.taken < size) {
          expect(waiting).toEqual([]) // a slot that is free is not waited for
          begin(groups, holdMs)
        } else {
          shares.wait(groups)
          waiting = [...waiting, groups]
        }
      }
      expect(shares.taken).toBe(running.length)
      expect(shares.taken).toBeLessThanOrEqual(size)
    }),
  )
})

test('a group beyond its share never takes the last slot while one within its share waits', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 50 }), fc.integer({ min: 1, max: 8 }), (size, greedy) => {
      const { shares, take, leave, clock } = sharesOf(size)
      for (let n = 0; n < greedy; n++) take(size, `greedy-${n}`)
      while (shares.taken < size) take(1, 'greedy-0')
      shares.wait(['modest'])
      for (let n = 0; n < 20; n++) {
        clock.ms += 1_000
        const held = shares.most(1)[0] as { group: string }
        leave(1, held.group)
        const share = Math.max(1, Math.floor(size / (greedy + 1)))
        for (const { group, held: holds } of shares.most(100))
          if (holds >= share) expect(shares.beyond([group])).toBe(group)
        expect(shares.beyond(['modest'])).toBeUndefined()
        shares.take([held.group])
      }
    }),
  )
})
