/** Orders for which there is no slot are given back, and come again the later the more there are. */

import { openTurnAway } from '@decorum/fetcher/testing'
import type { Order } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import { expect, test } from 'vitest'

const order = { agent: 'bot', origin: 'http://a.test', fence: 1, id: 'a' } as Order
const SECOND = 1_000
const TICK_MS = 100

function rig() {
  const clock = { ms: 0 }
  const given: { kind: string; until?: number; why?: string }[] = []
  const ledger = {
    clock: { ...systemClock, monotonic: () => clock.ms, random: () => 1 },
    partitionOf: () => 0,
    now: () => clock.ms,
    resolve: async (_: number, [one]: { next: { kind: string; until?: number } }[]) => {
      given.push(one!.next)
      return ['done']
    },
  }
  const why: string[] = []
  const tools = { ledger, stats: { refused: (one: string) => void why.push(one) } }
  const turnAway = openTurnAway(tools as never)
  return { clock, given, why, turnAway }
}

test('the first comes again after a second, behind the gate share', () => {
  const { given, why, turnAway } = rig()
  turnAway(order)
  expect(given).toEqual([{ kind: 'defer', until: 1_200, why: 'share' }])
  expect(why).toEqual(['share'])
})

test.each([
  [1_000, 25],
  [20_000, 110],
])(
  'of %i lanes that come again and again, at most %i a second are given back, and none waits longer than five minutes',
  (lanes, most) => {
    const { clock, given, turnAway } = rig()
    /** how many come in each tick */
    const due: number[] = []
    const tickOf = (at: number): number => Math.ceil(at / TICK_MS)
    const come = (at: number): void => {
      due[tickOf(at)] = (due[tickOf(at)] ?? 0) + 1
    }
    for (let n = 0; n < lanes; n++) come(n)
    let [late, longest] = [0, 0]
    for (; clock.ms < 1_500 * SECOND; clock.ms += TICK_MS) {
      const now = due[tickOf(clock.ms)] ?? 0
      if (clock.ms > 1_000 * SECOND) late += now
      for (let n = 0; n < now; n++) {
        turnAway(order)
        const until = given.pop()?.until ?? 0
        longest = Math.max(longest, until - clock.ms)
        come(until)
      }
    }
    expect(longest).toBeLessThanOrEqual(300 * SECOND)
    expect(late / 500).toBeLessThan(most)
  },
)

test('whoever asks for few waits shortly, however many another one asks for', () => {
  const { given, turnAway } = rig()
  for (let n = 0; n < 1_000; n++) turnAway({ ...order, crawl: 'many' })
  turnAway({ ...order, crawl: 'few' })
  expect(given.at(-1)?.until).toBe(1_200)
})

test('the lane of a robots fetch that a permit waits for is as free as before', () => {
  const { given, turnAway } = rig()
  turnAway({ ...order, id: '' })
  expect(given).toEqual([{ kind: 'release' }])
})
