/** Orders for which there is no slot are given back, and come again the later the more there are. */
import { openTurnAway } from '@decorum/fetcher/testing'
import type { Order } from '@decorum/protocol'
import { expect, test } from 'vitest'

const order = { agent: 'bot', origin: 'http://a.test', fence: 1, id: 'a' } as Order
const SECOND = 1_000

function rig() {
  const clock = { ms: 0 }
  const given: { kind: string; until?: number; why?: string }[] = []
  const ledger = {
    partitionOf: () => 0,
    now: () => clock.ms,
    resolve: async (_: number, [one]: { next: { kind: string; until?: number } }[]) => {
      given.push(one!.next)
      return ['done']
    },
  }
  const why: string[] = []
  const tools = { ledger, stats: { refused: (one: string) => void why.push(one) } }
  const turnAway = openTurnAway(
    tools as never,
    () => clock.ms,
    () => 1,
  )
  return { clock, given, why, turnAway }
}

test('the first comes again after a second, behind the gate share', () => {
  const { given, why, turnAway } = rig()
  turnAway(order, 'domain:a.test')
  expect(given).toEqual([{ kind: 'defer', until: 1_040, why: 'share' }])
  expect(why).toEqual(['share'])
})

test('of a thousand lanes that come again and again, fewer than fifty a second are given back, and none waits longer than a minute', () => {
  const { clock, given, turnAway } = rig()
  let due: number[] = Array.from({ length: 1_000 }, (_, n) => n)
  let late = 0
  for (; clock.ms < 300 * SECOND; clock.ms += 10) {
    const now = due.filter((at) => at <= clock.ms)
    due = due.filter((at) => at > clock.ms)
    if (clock.ms > 200 * SECOND) late += now.length
    for (const _ of now) {
      turnAway(order, 'domain:a.test')
      due.push(given.at(-1)?.until ?? 0)
    }
    expect(Math.max(...due) - clock.ms).toBeLessThanOrEqual(60 * SECOND)
  }
  expect(late / 100).toBeLessThan(50)
})

test('the lane of a robots fetch that a permit waits for is as free as before', () => {
  const { given, turnAway } = rig()
  turnAway({ ...order, id: '' }, 'token:a')
  expect(given).toEqual([{ kind: 'release' }])
})
