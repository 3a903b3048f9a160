/** The silence a lane owes. */
import type { Agent } from '@decorum/protocol'
import type { RobotsTxt } from '@decorum/robots'
import { expect, test } from 'vitest'
import { gapAfter, gapFor, tokensOf } from '../../../packages/ledger/src/gap.ts'

const agent: Agent = {
  name: 'Bot-Web',
  key: 'bot-web',
  fallbacks: ['bot'],
  userAgent: 'x',
  profile: 'decorum',
  minGapMs: 1_000,
  maxGapMs: 10_000,
  honourCrawlDelay: true,
  hasContact: true,
}
/** Rules that ask each of these tokens for a delay, seconds. */
const asking = (seconds: number | undefined): RobotsTxt =>
  ({ crawlDelay: (tokens: string[]) => (tokens[0] === 'Bot-Web' ? seconds : -1) }) as unknown as RobotsTxt

test.each([
  ['no rules', undefined, { gapMs: 1_000 }],
  ['no crawl-delay', asking(undefined), { gapMs: 1_000 }],
  ['one below the floor', asking(0.2), { gapMs: 1_000 }],
  ['one between', asking(2.5), { gapMs: 2_500 }],
  ['a fraction of a millisecond rounds up', asking(1.00001), { gapMs: 1_001 }],
  ['exactly the cap', asking(10), { gapMs: 10_000 }],
  ['one above the cap, which can be listed', asking(30), { gapMs: 10_000, clampedFrom: 30 }],
])('max(floor, min(crawl-delay, cap)): %s', (_, rules, gap) => {
  expect(gapFor(agent, rules)).toEqual(gap)
})

test('a floor above what the site asks for is no clamp', () => {
  expect(gapFor({ ...agent, minGapMs: 9_000 }, asking(5))).toEqual({ gapMs: 9_000 })
})

test('an agent whose profile knows no crawl-delay keeps its floor', () => {
  expect(gapFor({ ...agent, honourCrawlDelay: false }, asking(5))).toEqual({ gapMs: 1_000 })
})

const adaptiveGap = { factor: 5, floorMs: 500, capMs: 10_000 }
test.each([
  ['an agent without it', undefined, 1_000, 60_000, 1_000],
  ['nothing was sent', adaptiveGap, 1_000, undefined, 1_000],
  ['a quick answer', adaptiveGap, 1_000, 20, 1_000],
  ['a quick answer, and a gap below the floor of its own', adaptiveGap, 200, 20, 500],
  ['a slow answer', adaptiveGap, 1_000, 700, 3_500],
  ['a fraction rounds up', adaptiveGap, 0, 200.1, 1_001],
  ['one that took for ever', adaptiveGap, 1_000, 30_000, 10_000],
  ['a gap that is longer anyway', adaptiveGap, 20_000, 30_000, 20_000],
  ['a floor above the gap', { ...adaptiveGap, floorMs: 3_000 }, 1_000, 1, 3_000],
])('after an exchange: %s', (_, adaptive, gapMs, tookMs, owed) => {
  expect(gapAfter(adaptive === undefined ? {} : { adaptiveGap: adaptive }, gapMs, tookMs)).toBe(owed)
})

test('tokens go from most to least specific', () => {
  expect(tokensOf(agent)).toEqual(['Bot-Web', 'bot'])
})
