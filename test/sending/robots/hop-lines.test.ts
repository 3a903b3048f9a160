/** Hops of robots fetches to other hosts: one at a time, apart from each other in the whole fleet, and only a few that wait. */

import { setTimeout as sleep } from 'node:timers/promises'
import { LedgerUnavailableError } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import { hopLines } from '@decorum/sending/robots'
import { expect, test } from 'vitest'

const never = (): boolean => false
const hop = (host: string, delayMs = 0, from = 'http://elsewhere.test') => ({
  from,
  origin: `http://${host}`,
  delayMs,
  isLate: never,
  wait: <T>(work: () => Promise<T>) => work(),
})
/** The turns of a fleet, on a clock that the test moves. */
function turnsAt(clock: { ms: number }) {
  const taken = new Map<string, number>()
  return {
    async hopTurn(origin: string, whose: string, apartMs: number): Promise<number> {
      const name = `${origin} ${whose}`
      const leftMs = (taken.get(name) ?? 0) - clock.ms
      if (leftMs > 0) return leftMs
      taken.set(name, clock.ms + apartMs)
      return 0
    },
    async keepHopTurn(origin: string, whose: string, apartMs: number): Promise<void> {
      taken.set(`${origin} ${whose}`, clock.ms + apartMs)
    },
  }
}
const atOnce = turnsAt({ ms: 0 })
const made = async () => 'made'

test('of many hops to one host, four wait and the others are late at once', async () => {
  const lines = hopLines(systemClock, atOnce)
  let now = 0
  let most = 0
  const answers = await Promise.all(
    Array.from({ length: 400 }, () =>
      lines.inTurn(hop('victim.test'), async () => {
        most = Math.max(most, ++now)
        await sleep(1)
        now--
        return 'made'
      }),
    ),
  )
  expect([answers.filter((one) => one === 'made').length, answers.filter((one) => one === 'late').length]).toEqual([
    4, 396,
  ])
  expect(most).toBe(1)
})

test('twenty-five wait for all hosts together', async () => {
  const lines = hopLines(systemClock, atOnce)
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => lines.inTurn(hop(`host-${n}.test`), () => sleep(5, 'made'))),
  )
  expect(answers.filter((one) => one === 'made')).toHaveLength(25)
})

test('two fetchers make the next hop to a host sixteen of its delays later, and one that has no time for that is late', async () => {
  const clock = { ms: 0 }
  const turns = turnsAt(clock)
  const [one, other] = [hopLines(systemClock, turns), hopLines(systemClock, turns)]
  expect(await one.inTurn(hop('a.test', 1_000), made)).toBe('made')
  const hurried = { ...hop('a.test', 1_000), isLate: (waitMs: number) => waitMs >= 16_000 }
  expect(await other.inTurn(hurried, made)).toBe('late')
  expect(await other.inTurn(hop('b.test', 1_000), made)).toBe('made')
  clock.ms += 16_000
  expect(await other.inTurn(hurried, made)).toBe('made')
})

test('a hop within a registrable domain comes after four delays, whatever came from others', async () => {
  const clock = { ms: 0 }
  const lines = hopLines(systemClock, turnsAt(clock))
  const own = { ...hop('www.a.test', 1_000, 'http://a.test'), isLate: (waitMs: number) => waitMs >= 4_000 }
  expect(await lines.inTurn(hop('www.a.test', 1_000), made)).toBe('made')
  expect(await lines.inTurn(own, made)).toBe('made')
  expect(await lines.inTurn(own, made)).toBe('late')
  clock.ms += 4_000
  expect(await lines.inTurn(own, made)).toBe('made')
})

test('a lane that owes more than the least delay has hops as much further apart', async () => {
  const clock = { ms: 0 }
  const lines = hopLines(systemClock, turnsAt(clock))
  await lines.inTurn(hop('a.test', 1_000), async () => ({ delayMs: 4_000 }))
  const hurried = { ...hop('a.test', 1_000), isLate: (waitMs: number) => waitMs > 0 }
  clock.ms += 63_000
  expect(await lines.inTurn(hurried, made)).toBe('late')
  clock.ms += 1_000
  expect(await lines.inTurn(hurried, made)).toBe('made')
})

test('hops from elsewhere that wait for many hosts keep none back within a registrable domain', async () => {
  const lines = hopLines(systemClock, atOnce)
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const others = Array.from({ length: 25 }, (_, n) => lines.inTurn(hop(`host-${n}.test`), () => gate.then(made)))
  expect(await lines.inTurn(hop('www.a.test', 0, 'http://a.test'), made)).toBe('made')
  open()
  expect(new Set(await Promise.all(others))).toEqual(new Set(['made']))
})

test('while the ledger does not answer no hop is made', async () => {
  let asked = 0
  const lines = hopLines(
    { ...systemClock, sleep: async () => undefined },
    {
      async hopTurn() {
        if (++asked < 3) throw new LedgerUnavailableError('hopTurn', new Error('gone'))
        return 0
      },
      keepHopTurn: async () => undefined,
    },
  )
  expect(await lines.inTurn(hop('a.test', 1_000), made)).toBe('made')
  expect(asked).toBe(3)
})

test('a hop that throws holds nobody up', async () => {
  const lines = hopLines(systemClock, atOnce)
  const broken = lines.inTurn(hop('a.test'), async () => {
    throw new Error('broken')
  })
  const next = lines.inTurn(hop('a.test'), made)
  await expect(broken).rejects.toThrow('broken')
  expect(await next).toBe('made')
})
