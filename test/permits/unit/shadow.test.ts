import { Shadow } from '@decorum/permits/testing'
import { systemClock } from '@decorum/protocol'
import { expect, test } from 'vitest'

const RULES = { delayMs: 1_000, pace: 'delay' as const }
const all = (): boolean => true
function scene() {
  const clock = { now: 1_000_000 }
  const shadow = new Shadow({ ...systemClock, monotonic: () => clock.now })
  const ask = (origin = 'http://a.example', rules: Parameters<Shadow['grant']>[0]['rules'] = RULES) =>
    shadow.grant({ agent: 'bot', origin, holder: 'team', rules, leaseMs: 30_000 })
  return { clock, shadow, ask }
}

test('in turn: each would have waited for the exchange and the delay of those before', () => {
  const { clock, shadow, ask } = scene()
  const first = ask()
  expect(first.would).toEqual({ decision: 'granted' })
  expect(ask().would).toEqual({ decision: 'wait', gate: 'lane-busy', waitMs: 1_000 })
  expect(ask().would).toEqual({ decision: 'wait', gate: 'lane-busy', waitMs: 2_000 })
  expect(ask('http://b.example').would).toEqual({ decision: 'granted' })
  clock.now += 10_000
  expect(shadow.end(first.id, 'team', true, 0)).toBe(true)
  expect(shadow.report(all)).toMatchObject({ requests: 4, granted: 2, waited: 2, waitMs: 3_000, longestMs: 2_000 })
})

test('the delay counts from the end of the exchange, and a site that asked for less closes the lane', () => {
  const { clock, shadow, ask } = scene()
  const one = ask()
  clock.now += 5_000
  shadow.end(one.id, 'team', true, 0)
  clock.now += 400
  const two = ask(undefined, { ...RULES, pace: 'crawl-delay' })
  expect(two.would).toEqual({ decision: 'wait', gate: 'crawl-delay', waitMs: 600 })
  shadow.end(two.id, 'team', true, 20_000)
  clock.now += 5_000
  expect(ask().would).toEqual({ decision: 'wait', gate: 'back-off', waitMs: 15_000 })
})

test('what would be refused, or waits for rules, is named, and takes up no time of its lane', () => {
  const { clock, ask, shadow } = scene()
  const never = ask(undefined, { ...RULES, refusal: 'disallowed' })
  expect(never.would).toEqual({ decision: 'refused', type: 'disallowed' })
  shadow.end(never.id, 'team', false, 0)
  expect(ask().would).toEqual({ decision: 'granted' })
  clock.now += 60_000
  const closed = { gate: 'robots-unreachable' as const, waitMs: 9_000 }
  expect(ask(undefined, { ...RULES, closed }).would).toEqual({ decision: 'wait', ...closed })
})

test('another holder cannot end it, an end that never comes is forgotten with its lease, and the record is bounded', () => {
  const { clock, shadow, ask } = scene()
  const { id } = ask()
  expect(shadow.end(id, 'others', true, 0)).toBe(false)
  clock.now += 30_001
  expect(ask().would).toEqual({ decision: 'granted' })
  expect(shadow.end(id, 'team', true, 0)).toBe(false)
  for (let n = 0; n < 10_050; n++) ask(`http://${n}.example`)
  for (let n = 9_000; n < 10_050; n++) ask(`http://${n}.example`)
  const { lanes, lanesForgotten, requests } = shadow.report(all)
  expect(lanes).toHaveLength(100)
  expect(lanesForgotten).toBe(51)
  expect(requests).toBe(2 + 10_050 + 1_050)
})
