/** The delay that a lane owes. */
import type { Agent } from '@decorum/config'
import type { RobotsTxt } from '@decorum/robots'
import { expect, test } from 'vitest'
import { delayAfter, effectiveDelay, tokensOf } from '../../../packages/politeness/src/effective-delay.ts'

const agent: Agent = {
  name: 'Bot-Web',
  key: 'bot-web',
  fallbacks: ['bot'],
  userAgent: 'x',
  profile: 'decorum',
  minDelayMs: 1_000,
  maxDelayMs: 10_000,
  honourCrawlDelay: true,
  hasContact: true,
}
/** Rules that ask each of these tokens for a delay, seconds. */
const asking = (seconds: number | undefined): RobotsTxt =>
  ({ crawlDelay: (tokens: string[]) => (tokens[0] === 'Bot-Web' ? seconds : -1) }) as unknown as RobotsTxt

test.each([
  ['no rules', undefined, { delayMs: 1_000 }],
  ['no crawl-delay', asking(undefined), { delayMs: 1_000 }],
  ['one below the floor', asking(0.2), { delayMs: 1_000 }],
  ['one between', asking(2.5), { delayMs: 2_500 }],
  ['a fraction of a millisecond rounds up', asking(1.00001), { delayMs: 1_001 }],
  ['exactly the cap', asking(10), { delayMs: 10_000 }],
  ['one above the cap, which can be listed', asking(30), { delayMs: 10_000, clampedFrom: 30 }],
])('max(floor, min(crawl-delay, cap)): %s', (_, rules, delay) => {
  expect(effectiveDelay(agent, rules)).toEqual(delay)
})

test('a floor above what the site asks for is no clamp', () => {
  expect(effectiveDelay({ ...agent, minDelayMs: 9_000 }, asking(5))).toEqual({ delayMs: 9_000 })
})

test('an agent whose profile knows no crawl-delay keeps its floor', () => {
  expect(effectiveDelay({ ...agent, honourCrawlDelay: false }, asking(5))).toEqual({ delayMs: 1_000 })
})

const adaptiveDelay = { factor: 5, floorMs: 500, capMs: 10_000 }
test.each([
  ['an agent without it', undefined, 1_000, 60_000, 1_000],
  ['nothing was sent', adaptiveDelay, 1_000, undefined, 1_000],
  ['a quick answer', adaptiveDelay, 1_000, 20, 1_000],
  ['a quick answer, and a delay below the floor of its own', adaptiveDelay, 200, 20, 500],
  ['a slow answer', adaptiveDelay, 1_000, 700, 3_500],
  ['a fraction rounds up', adaptiveDelay, 0, 200.1, 1_001],
  ['one that took for ever', adaptiveDelay, 1_000, 30_000, 10_000],
  ['a delay that is longer anyway', adaptiveDelay, 20_000, 30_000, 20_000],
  ['a floor above the delay', { ...adaptiveDelay, floorMs: 3_000 }, 1_000, 1, 3_000],
])('after an exchange: %s', (_, adaptive, delayMs, tookMs, owed) => {
  expect(delayAfter(adaptive === undefined ? {} : { adaptiveDelay: adaptive }, delayMs, tookMs)).toBe(owed)
})

test('tokens go from most to least specific', () => {
  expect(tokensOf(agent)).toEqual(['Bot-Web', 'bot'])
})
