/** Orders for which there is no slot are given back, and come again the later the more there are. */

import { openTurnAway } from '@decorum/fetcher/testing'
import type { Order } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import { expect, test } from 'vitest'

const order = { agent: 'bot', origin: 'http://a.test', fence: 1, id: 'a' } as Order
const SECOND = 1_000

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
    let due: number[] = Array.from({ length: lanes }, (_, n) => n)
    let late = 0
    for (; clock.ms < 1_500 * SECOND; clock.ms += 100) {
      const now = due.filter((at) => at <= clock.ms)
      due = due.filter((at) => at > clock.ms)
      if (clock.ms > 1_000 * SECOND) late += now.length
      for (const _ of now) {
        turnAway(order)
        due.push(given.at(-1)?.until ?? 0)
      }
      expect(Math.max(0, ...due) - clock.ms).toBeLessThanOrEqual(300 * SECOND)
      given.length = 0
    }
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
