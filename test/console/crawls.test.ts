/** Crawls over HTTP: listed, changed, forgotten; candidates and outcomes of one; and the row of the page. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
let fleet: FleetForTest

beforeAll(async () => {
  fleet = await fleetForTest(redis.url)
})
afterAll(async () => {
  raw.disconnect()
  await fleet.close()
})

const send = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${fleet.base}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

test('a crawl is set before its first candidate, paused, weighed and listed, and the page shows it', async () => {
  const body = {
    action: 'pause',
    weight: 3,
    limits: { stored: 10 },
    settings: { redirects: 'report' },
    reason: 'night',
  }
  expect(await send('PATCH', '/v1/crawls/news', body)).toMatchObject({
    status: 200,
    body: { name: 'news', unreached: 0, record: { state: 'paused', weight: 3, limits: { stored: 10 }, by: 'console' } },
  })
  expect(await fleet.get('/v1/crawls')).toMatchObject({
    status: 200,
    body: { crawls: [{ name: 'default' }, { name: 'news', waiting: 0, unread: 0, record: { reason: 'night' } }] },
  })
  const again = await send('PATCH', '/v1/crawls/news', { limits: { stored: null }, action: 'resume' })
  expect(again.body).toMatchObject({ record: { state: 'running', weight: 3, settings: { redirects: 'report' } } })
  expect(again.body.record).not.toHaveProperty('limits')
  await expect.poll(async () => (await fetch(`${fleet.base}/`)).text()).toContain('<h2>Crawls')
})

test('candidates of a crawl come in over HTTP under its name, that of the query or their own', async () => {
  const candidates = [{ url: 'http://a.test/1' }, { url: 'http://a.test/2', crawl: 'own' }]
  expect(await send('POST', '/v1/candidates?crawl=news', { candidates })).toMatchObject({ status: 202 })
  const jobs = await raw.keys('{decorum:0}:candidates:[0-9]*')
  const texts = await Promise.all(jobs.map((job) => raw.hget(job, 'data')))
  expect(texts.join()).toContain('{"url":"http://a.test/1","crawl":"news"}')
  expect(texts.join()).toContain('{"url":"http://a.test/2","crawl":"own"}')
  expect(await send('POST', '/v1/candidates?crawl=No', { candidates })).toMatchObject({ status: 400 })
  expect(await send('POST', '/v1/candidates', { crawl: 'No', candidates })).toMatchObject({ status: 400 })
  expect(await send('POST', '/v1/candidates', { url: 'http://a.test/', crawl: 'A B' })).toMatchObject({ status: 400 })
})

test('a crawl that is read is not forgotten; one that nobody reads is', async () => {
  expect(await fleet.get('/v1/outcomes?crawl=read&group=g&waitMs=0')).toMatchObject({ status: 200 })
  expect(await send('DELETE', '/v1/crawls/read')).toMatchObject({ status: 409, body: { type: 'read' } })
  expect(await send('DELETE', '/v1/readers/g?crawl=read&force=true')).toMatchObject({ status: 200 })
  expect(await send('DELETE', '/v1/crawls/read')).toMatchObject({ status: 200, body: { forgotten: true } })
  expect(await send('DELETE', '/v1/crawls/read')).toMatchObject({ status: 404 })
})

test('the default crawl stays; a name that cannot be decoded is refused like any other', async () => {
  expect(await send('DELETE', '/v1/crawls/default')).toMatchObject({
    status: 409,
    body: { type: 'not-done', detail: expect.stringContaining('it stays') },
  })
  const { status, body } = await send('PATCH', '/v1/crawls/%ff', { weight: 1 })
  expect([status, body]).toMatchObject([
    400,
    { type: 'bad-request', detail: expect.stringContaining('/v1/crawls/%ff') },
  ])
})

test('the page of a crawl pauses, weighs and cancels it, and removes it from the list', async () => {
  await send('PATCH', '/v1/crawls/paged', { weight: 2 })
  const act = async (fields: Record<string, string>) => {
    const answer = await fetch(`${fleet.base}/crawls/paged`, {
      method: 'POST',
      body: new URLSearchParams({ by: 'ann', reason: 'test', weight: '2', ...fields }),
      redirect: 'manual',
    })
    return { status: answer.status, to: answer.headers.get('location'), text: await answer.text() }
  }
  const record = async () => {
    const { body } = await fleet.get('/v1/crawls')
    return (body as { crawls: { name: string; record: unknown }[] }).crawls.find(({ name }) => name === 'paged')?.record
  }
  expect(await act({ action: 'pause' })).toMatchObject({ status: 303, to: '/crawls/paged?done=pause' })
  expect(await record()).toMatchObject({ state: 'paused', by: 'ann', reason: 'test' })
  expect(await (await fetch(`${fleet.base}/crawls/paged?done=pause`)).text()).toMatch(/Done: pause.*Resume/s)
  expect(await act({ action: 'resume' })).toMatchObject({ status: 303 })
  expect(await act({ action: 'weight', weight: '7' })).toMatchObject({ status: 303 })
  expect(await record()).toMatchObject({ state: 'running', weight: 7 })
  const wrong = await act({ action: 'weight', weight: '0' })
  expect(wrong.status).toBe(400)
  expect(wrong.text).toContain('Not done: weight')
  expect(await act({ action: 'limits', stored: '50', pagesPerHost: '7' })).toMatchObject({ status: 303 })
  expect(await record()).toMatchObject({ limits: { stored: 50, pagesPerHost: 7 } })
  expect(await act({ action: 'limits', stored: '', pagesPerHost: '8' })).toMatchObject({ status: 303 })
  expect(await record()).toHaveProperty('limits', { pagesPerHost: 8 })
  expect(await (await fetch(`${fleet.base}/crawls/paged`)).text()).toMatch(/name="pagesPerHost"[^>]* value="8"/)
  const half = await act({ action: 'limits', bytes: '1.5' })
  expect([half.status, half.text.includes('Not done: limits.bytes'), half.text.includes('value="1.5"')]).toEqual([
    400,
    true,
    true,
  ])
  const unconfirmed = await act({ action: 'cancel' })
  expect(unconfirmed.text).toContain('has to be confirmed')
  expect(await act({ action: 'cancel', confirm: 'yes' })).toMatchObject({ status: 303 })
  expect(await record()).toMatchObject({ state: 'cancelled' })
  expect(await act({ action: 'forget' })).toMatchObject({ status: 303, to: '/crawls' })
  expect(await record()).toBeUndefined()
  expect((await act({ action: 'pause' })).status, 'a crawl that there is not is not made').toBe(404)
})

test.each([
  ['a weight of nothing', 'news', { weight: 0 }, 400],
  ['a limit that is no whole number', 'news', { limits: { stored: 1.5 } }, 400],
  ['a limit that there is not', 'news', { limits: { pages: 1 } }, 400],
  ['nothing', 'news', {}, 400],
  ['a name that is none', 'No', { weight: 1 }, 400],
  ['an end in the past', 'news', { expiresAt: 5 }, 409],
  ['cancelling the default crawl', 'default', { action: 'cancel' }, 409],
])('%s is refused, and nothing is changed', async (_, name, body, status) => {
  const before = (await fleet.get('/v1/crawls')).body
  expect(await send('PATCH', `/v1/crawls/${name}`, body)).toMatchObject({
    status,
    body: { detail: expect.stringMatching(/\w/) },
  })
  expect((await fleet.get('/v1/crawls')).body).toEqual(before)
})
