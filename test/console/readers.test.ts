/** The readers of outcomes in the console: API, metrics, page; and forgetting one over HTTP. */
import { ReadersAnswer } from '@decorum/console/inside'
import { makeGroup } from '@decorum/ledger'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
const STREAM = '{decorum:0}:outcomes'
let fleet: FleetForTest

beforeAll(async () => {
  fleet = await fleetForTest(redis.url, { OUTCOMES_LIMIT: '4' })
  await makeGroup(raw, [STREAM], 'gone', 'start')
  await makeGroup(raw, [STREAM], 'quick', 'start')
  await fleet.outcomes(['a', 'b', 'c'])
  await raw.xreadgroup('GROUP', 'gone', 'host-1', 'COUNT', 1, 'STREAMS', STREAM, '>')
  await raw.xgroup('CREATECONSUMER', STREAM, 'quick', 'lives')
})
afterAll(async () => {
  raw.disconnect()
  await fleet.close()
})

/** A sign of life of the one that is behind: it asks again for what it holds. */
const lives = () => raw.xreadgroup('GROUP', 'gone', 'host-1', 'STREAMS', STREAM, '0')

const forget = async (path: string): Promise<{ status: number; body: unknown }> => {
  const answer = await fetch(`${fleet.base}/v1/readers/${path}`, { method: 'DELETE' })
  return { status: answer.status, body: await answer.json() }
}

test('GET /v1/readers tells each group, and which one pauses the crawl', async () => {
  const before = ReadersAnswer.parse((await fleet.get('/v1/readers')).body)
  expect(before.readers).toMatchObject([
    {
      group: 'gone',
      lag: 2,
      pending: 1,
      oldest: { id: 'a' },
      consumers: [{ name: 'host-1', pending: 1 }],
      pausesCrawl: false,
    },
    { group: 'quick', lag: 3, pending: 0, isRead: true, pausesCrawl: false },
  ])
  expect((await fleet.get('/v1/readers?crawl=news')).body).toEqual({ readers: [] })
  expect(await fleet.get('/v1/readers?crawl=No')).toMatchObject({ status: 400, body: { type: 'bad-request' } })
  await fleet.outcomes(['d'])
  const rows = (await raw.xreadgroup('GROUP', 'quick', 'lives', 'STREAMS', STREAM, '>')) ?? []
  await raw.xack(STREAM, 'quick', ...(rows[0]?.[1] ?? []).map(([id]) => id))
  const after = ReadersAnswer.parse((await fleet.get('/v1/readers')).body)
  expect(after.readers.map(({ group, pausesCrawl }) => [group, pausesCrawl])).toEqual([
    ['gone', true],
    ['quick', false],
  ])
})

test('metrics name crawl and group', async () => {
  const text = await (await fetch(`${fleet.base}/metrics`)).text()
  expect(text).toContain('decorum_outcomes_group_lag{crawl="default",group="gone"} 3')
  expect(text).toContain('decorum_outcomes_group_pending{crawl="default",group="gone"} 1')
  expect(text).toMatch(/decorum_outcomes_group_oldest_seconds\{crawl="default",group="gone"\} \d/)
  expect(text).toContain('decorum_outcomes_group_oldest_seconds{crawl="default",group="quick"} 0')
})

test('metrics are of fifty groups at most, those with most to read', async () => {
  const many = Array.from({ length: 60 }, (_, n) => `idle-${n}`)
  for (const group of many) await makeGroup(raw, [STREAM], group, 'now')
  const text = await (await fetch(`${fleet.base}/metrics`)).text()
  expect(text.match(/^decorum_outcomes_group_lag\{/gm)).toHaveLength(50)
  expect(text).toContain('decorum_outcomes_group_lag{crawl="default",group="gone"}')
  for (const group of many) await raw.xgroup('DESTROY', STREAM, group)
})

test('readers of other crawls have metrics and are in the headline: of the crawls that store most outcomes, fifty groups at most', async () => {
  for (let crawl = 0; crawl < 25; crawl++) {
    const stream = `${STREAM}:c${crawl}`
    await raw.hset('{decorum:0}:crawls', `c${crawl}`, '0')
    for (let n = 0; n < (crawl === 24 ? 9 : 1); n++) await raw.xadd(stream, '*', 'o', JSON.stringify({ id: `${n}` }))
    for (const group of ['one', 'two', 'three']) await makeGroup(raw, [stream], group, 'start')
  }
  await raw.hset('{decorum:0}:crawl:c24', 'parked', '1', 'left', '0')
  const text = await (await fetch(`${fleet.base}/metrics`)).text()
  const lags = text.match(/^decorum_outcomes_group_lag\{.*$/gm) ?? []
  expect(lags.filter((line) => line.includes('crawl="c'))).toHaveLength(50)
  for (const group of ['one', 'two', 'three'])
    expect(lags).toContain(`decorum_outcomes_group_lag{crawl="c24",group="${group}"} 9`)
  expect(text).toMatch(/decorum_outcomes_group_oldest_seconds\{crawl="c24",group="one"\} \d/)
  expect(lags.some((line) => line.includes('crawl="default",group="gone"'))).toBe(true)
  const crawls = (await fleet.get('/v1/crawls')).body as { crawls: { name: string; unreadInOne: number }[] }
  expect(crawls.crawls.find(({ name }) => name === 'c24')).toMatchObject({ waiting: 1, unread: 9, unreadInOne: 9 })
  for (let crawl = 0; crawl < 25; crawl++) await raw.del(`${STREAM}:c${crawl}`, `{decorum:0}:crawl:c${crawl}`)
  await raw.del('{decorum:0}:crawls')
})

describe.skipIf(chromiumPath === undefined)('in chromium', () => {
  let chrome: BrowserForTest
  beforeAll(async () => {
    chrome = await browserForTest(Number(new URL(fleet.base).port))
  })
  afterAll(() => chrome.close())

  test('the page lists who reads, in columns that do not touch, and tells of the one that is behind', async () => {
    await lives()
    const page = await chrome.browser.newPage()
    await page.goto('/')
    await page.getByRole('heading', { name: 'A reader is behind' }).waitFor() // it has read within the last minute
    const row = page.getByRole('row').filter({ hasText: 'host-1' })
    await row.getByText('reading').waitFor()
    expect((await row.getByRole('cell').allInnerTexts()).slice(2, 4)).toEqual(['3', '1'])
    const gap = await page.evaluate("getComputedStyle(document.querySelector('.tiles')).columnGap")
    expect(gap).toBe('10px')
    const shot = process.env.SCREENSHOT
    if (shot !== undefined) await page.screenshot({ path: shot, fullPage: true })
    expect(chrome.complaints).toEqual([])
  })
})

test('a group is forgotten on the page, once that is confirmed and nobody reads it', async () => {
  await makeGroup(raw, [STREAM], 'left behind', 'start')
  const forgetOnPage = (fields: Record<string, string>) =>
    fetch(`${fleet.base}/readers`, {
      method: 'POST',
      body: new URLSearchParams({ reader: 'default left behind', reason: 'its machine is gone', ...fields }),
      redirect: 'manual',
    })
  expect((await forgetOnPage({})).status).toBe(400)
  const missing = await forgetOnPage({ reader: 'default never', confirm: 'yes' })
  expect(await missing.text()).toContain('Not done: no group &#39;never&#39; reads the crawl')
  const done = await forgetOnPage({ confirm: 'yes' })
  expect([done.status, done.headers.get('location')]).toEqual([303, '/readers?forgotten=left%20behind'])
  expect(await (await fetch(`${fleet.base}/readers`)).text()).not.toContain('left behind')
  await raw.del('{decorum:0}:operations')
})

test('DELETE /v1/readers/{group} forgets one that nobody reads, and writes it down', async () => {
  await lives()
  expect(await forget('gone')).toMatchObject({ status: 409, body: { type: 'still-read' } })
  expect(await forget('never')).toMatchObject({ status: 404, body: { type: 'no-such-reader' } })
  expect(await forget('gone?crawl=news')).toMatchObject({ status: 404 })
  expect(await forget('gone?force=maybe')).toMatchObject({ status: 400 })
  expect((await fleet.get('/v1/operations')).body).toEqual({ operations: [] })
  const done = await forget('gone?force=true&reason=its%20machine%20is%20gone&by=ann')
  expect(done).toEqual({ status: 200, body: { crawl: 'default', group: 'gone', unread: 4 } })
  expect((await fleet.get('/v1/operations')).body).toMatchObject({
    operations: [
      { action: 'forget-reader', crawl: 'default', group: 'gone', unread: 4, by: 'ann', reason: 'its machine is gone' },
    ],
  })
  expect((await fleet.get('/v1/readers')).body).toMatchObject({ readers: [{ group: 'quick' }] })
})
