/** Whose the stored URLs are, and which crawls are refused while memory is getting short. */

import { openFrontier } from '@decorum/client'
import { HEADROOM, isBeyondShare, storedUrls } from '@decorum/ledger'
import { DEFAULT_CRAWL, systemClock } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, TAG, url } from './ledger-for-test.ts'

const redis = await redisForTest()
type Bench = Awaited<ReturnType<typeof emptyLedger>>

async function store({ ledger }: Bench, crawl: string, count: number): Promise<void> {
  const urls = Array.from({ length: count }, (_, n) =>
    url(`${crawl}-${n}`, { crawl, origin: `https://${crawl}-${n}.test` }),
  )
  for (let at = 0; at < count; at += 500) await ledger.store(0, urls.slice(at, at + 500))
}
const stored = ({ raw }: Bench) => storedUrls(raw, [TAG], { clock: systemClock, ms: 5_000 })

test('stored URLs are counted by crawl, those of the default crawl as what the others have not', async () => {
  const bench = await emptyLedger(redis)
  await store(bench, DEFAULT_CRAWL, 3)
  await store(bench, 'news', 5)
  await store(bench, 'shops', 1)
  expect(await stored(bench)).toEqual(
    new Map([
      [DEFAULT_CRAWL, 3],
      ['news', 5],
      ['shops', 1],
    ]),
  )
})

test('a crawl is beyond its share when it has more than each would have if all had equally many', () => {
  const three = new Map([
    ['large', 80],
    ['small', 10],
    ['other', 30],
  ])
  expect(['large', 'small', 'other', 'new'].map((crawl) => isBeyondShare(three, crawl))).toEqual([
    true,
    false,
    false,
    false,
  ])
  expect(isBeyondShare(new Map([['alone', 1_000]]), 'alone')).toBe(false)
  expect(isBeyondShare(new Map(), 'new')).toBe(false)
})

/** So much of its memory Redis uses from here on. */
async function useShare({ raw, ledger }: Bench, share: number): Promise<void> {
  onTestFinished(async () => {
    await raw.config('SET', 'maxmemory', '0')
    await raw.del('ballast')
  })
  // Beside it, what connections need is little; sent in one command it would itself be the buffer of a connection for a while
  await raw.setrange('ballast', 40_000_000, 'x')
  await raw.config('SET', 'maxmemory', '1')
  const { used } = await ledger.memory()
  await raw.config('SET', 'maxmemory', String(Math.round(used / share)))
}

/** What becomes of one candidate: how many were taken in, or why it was refused. */
async function enqueueOne(crawl: string, own?: string): Promise<number | string> {
  const frontier = await openFrontier({ redis: redis.url, crawl, patienceMs: 0 })
  onTestFinished(() => frontier.close())
  const candidate = { url: 'https://site.test/next', ...(own === undefined ? {} : { crawl: own }) }
  return frontier.enqueue([candidate]).then(
    ({ count }) => count,
    (error: Error) => error.message,
  )
}

test('while memory is getting short, the crawl with most URLs is refused, and one with few is let in', async () => {
  const bench = await emptyLedger(redis)
  await store(bench, 'large', 150)
  await store(bench, 'small', 10)
  await useShare(bench, (HEADROOM.shares + HEADROOM.intake) / 2)
  expect(await enqueueOne('small')).toBe(1)
  expect(await enqueueOne('new')).toBe(1)
  const refused =
    /Redis uses 7\d % of its maxmemory, 7\d % when all hosts with URLs have been visited, and the crawl large has more than its share of it, 150 URLs/
  expect(await enqueueOne('large')).toMatch(refused)
  expect(await enqueueOne('small', 'large')).toMatch(refused)
})

test('what hosts will need that nobody has visited yet counts as well: a crawl of many hosts is refused earlier', async () => {
  const bench = await emptyLedger(redis)
  await store(bench, 'large', 30_000)
  await store(bench, 'small', 10)
  await useShare(bench, HEADROOM.shares - 0.1) // beside the ballast, 30,000 hosts need more than the rest
  expect(await enqueueOne('small')).toBe(1)
  expect(await enqueueOne('large')).toMatch(/uses 6\d % of its maxmemory, \d+ % when all hosts .* 30000 URLs/)
})
