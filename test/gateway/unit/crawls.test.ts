/** What a crawl changes of a candidate when that is taken in. */

import { loadAgents } from '@decorum/config'
import { admitter } from '@decorum/gateway/testing'
import { type CrawlRecord, USUAL } from '@decorum/ledger'
import type { RobotsJudge } from '@decorum/politeness/admission'
import { expect, test } from 'vitest'

const agents = loadAgents({
  agents: JSON.stringify([{ name: 'bot', userAgent: 'bot (+https://bot.example/)' }]),
  defaultDelayMs: 0,
  maxDelayMs: 0,
})
const robots = { atIntake: () => undefined } as unknown as RobotsJudge
const records: Record<string, Partial<CrawlRecord>> = {
  slow: { settings: { redirects: 'report', priority: 'high', accept: ['text/html'], maxBytes: 10, deadlineMs: 500 } },
  gone: { state: 'cancelled' },
  over: { state: 'ended' },
  spent: { state: 'spent' },
  waits: { state: 'paused' },
}
const admit = admitter(agents, '', robots, () => 1_000, {
  recordOf: (name) => ({ ...USUAL, ...records[name] }),
  mayName: (name) => name !== 'too-many',
})
const url = 'http://a.test/'

test('what a candidate does not say itself, its crawl says', () => {
  expect(admit({ url, crawl: 'slow', maxBytes: 5 }, '#:1').item).toMatchObject({
    pending: {
      crawl: 'slow',
      priority: 'high',
      request: { redirects: 'report', accept: ['text/html'], maxBytes: 5, deadlineMs: 500 },
    },
  })
  expect(admit({ url, crawl: 'slow', redirects: 'follow', priority: 'normal' }, '#:1').item).toMatchObject({
    pending: { priority: 'normal', request: { accept: ['text/html'] } },
  })
  expect(admit({ url }, '#:1', 'slow').item).toMatchObject({ pending: { crawl: 'slow', priority: 'high' } })
  expect(admit({ url, crawl: 'default' }, '#:1', 'slow').item).toMatchObject({ pending: { priority: 'normal' } })
  expect(admit({ url, crawl: 'waits' }, '#:1').item).toMatchObject({ pending: { crawl: 'waits' } })
})

test.each([
  ['gone', 'cancelled'],
  ['over', 'crawl-ended'],
  ['spent', 'crawl-bytes'],
])('a candidate of the crawl %s ends as %s, in the stream of its crawl', (crawl, reason) => {
  expect(admit({ url, crawl }, '#:1').item).toMatchObject({ outcome: { kind: 'refused', reason, crawl } })
})

test('a crawl name that is none, or one too many, ends in the stream of the default crawl', () => {
  for (const [crawl, detail] of [
    ['A', /crawl: a crawl is named/],
    ['too-many', /crawls are known already/],
  ] as const) {
    const { item } = admit({ url, crawl }, '#:1')
    expect(item).toMatchObject({ outcome: { kind: 'invalid', detail: expect.stringMatching(detail) } })
    expect('outcome' in item && item.outcome.crawl).toBeUndefined()
  }
  expect(admit({ nonsense: 1, crawl: 'news' }, '#:1').item).toMatchObject({ outcome: { crawl: 'news' } })
})
