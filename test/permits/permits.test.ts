import { EVERYTHING, openLedger } from '@decorum/ledger'
import { MAX_PATH_BYTES } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { LONG_LEASES, permitFleet, sharedPermitFleet, TIMES, UA } from './fleet.ts'

const shared = sharedPermitFleet({ env: LONG_LEASES })

test('an unknown origin: a fetcher asks for robots.txt while the permit waits, then it is granted', async () => {
  const { web, ask, complete, expectPolite } = await shared([
    { name: 'a', robots: { body: 'User-agent: *\nDisallow: /private\n' } },
  ])
  const url = `${web.origins.a}/page`
  const asked = await ask({ url, waitMs: 20_000 })
  expect(asked).toMatchObject({
    status: 201,
    body: {
      decision: 'granted',
      url,
      agent: 'journeybot',
      userAgent: UA,
      delayMs: TIMES.delayMs,
      sendWithinMs: expect.any(Number),
    },
  })
  expect(asked.headers.get('location')).toBe(`/v1/permits/${asked.body.permit}`)
  const answer = await fetch(url, { headers: { 'user-agent': UA } })
  await answer.arrayBuffer()
  expect(await complete(asked.body.permit, { status: 200 })).toMatchObject({
    status: 200,
    body: { ended: 'completed' },
  })

  const refused = await ask({ url: `${web.origins.a}/private/x`, waitMs: 0 })
  expect(refused).toMatchObject({
    status: 403,
    body: { type: 'disallowed', status: 403, rule: 'disallow: /private', line: 2, group: ['*'] },
  })
  expect(refused.headers.get('content-type')).toContain('application/problem+json')
  const report = await expectPolite()
  expect(report.requests).toBe(2)
})

test('a URL of the longest length, each octet of it encoded once more in a query, is judged and granted', async () => {
  const { web, ask, complete, call, expectPolite } = await shared([{ name: 'long', robots: { body: '' } }])
  const url = `${web.origins.long}/?${'|'.repeat(MAX_PATH_BYTES - 2)}`
  const asked = await ask({ url, waitMs: 20_000 })
  expect(asked).toMatchObject({ status: 201, body: { url } })
  await (await fetch(url, { headers: { 'user-agent': UA } })).arrayBuffer()
  await complete(asked.body.permit, { status: 200 })
  expect(await call('GET', `/v1/robots?url=${encodeURIComponent(url)}`)).toMatchObject({
    status: 200,
    body: { verdict: 'allowed' },
  })
  expect((await expectPolite()).requests).toBe(2)
})

test('a lane in use: 200 names the gate, and who waits gets the lane when its delay is over', async () => {
  const { web, ask, complete, call, fetch: get, expectPolite } = await shared([{ name: 'b', robots: { body: '' } }])
  const url = `${web.origins.b}/1`
  const first = await ask({ url, waitMs: 20_000 })
  expect(first.status).toBe(201)
  const second = await ask({ url: `${web.origins.b}/2` })
  expect(second).toMatchObject({ status: 200, body: { decision: 'wait', gate: 'lane-busy', holder: 'permit' } })
  expect(second.body.retryAfterMs).toBeGreaterThan(0)
  expect(await call('GET', `/v1/permits/${first.body.permit}`)).toMatchObject({
    status: 200,
    body: { agent: 'journeybot' },
  })
  const waiting = get(`${web.origins.b}/2`)
  await (await fetch(url, { headers: { 'user-agent': UA } })).arrayBuffer()
  expect((await complete(first.body.permit, { status: 200 })).status).toBe(200)
  expect(await waiting).toBe(200)
  expect((await expectPolite()).requests).toBe(3)
})

test('a permit of a crawl: it waits while the crawl is paused, is answered so, and is refused once the crawl was cancelled', async () => {
  const { web, ask, complete, redis } = await shared(['c', 'new'].map((name) => ({ name, robots: { body: '' } })))
  const ledger = await openLedger({ redis: redis.url, partitions: 1, leaseMs: 5_000, quarantineMs: 100 })
  onTestFinished(() => ledger.close())
  const set = (state: 'running' | 'paused' | 'cancelled') =>
    ledger.changeCrawl({ name: 'news', change: { state }, by: 'test', reason: 'a test' })
  const url = `${web.origins.c}/1`
  const other = await ask({ url, waitMs: 20_000 })
  expect(other.status).toBe(201)
  await complete(other.body.permit, { status: 200 })
  await set('paused')
  expect(await ask({ url, crawl: 'news', waitMs: 0 })).toMatchObject({
    status: 200,
    body: { decision: 'wait', gate: 'crawl-held', detail: "the crawl 'news' is paused" },
  })
  const waiting = ask({ url, crawl: 'news', waitMs: 60_000 })
  const free = await ask({ url, waitMs: 20_000 })
  expect(free.status, 'others go on').toBe(201)
  await complete(free.body.permit, { status: 200 })
  await set('running')
  const held = await waiting
  expect(held.status).toBe(201)
  await complete(held.body.permit, { status: 200 })
  await set('cancelled')
  expect(await ask({ url, crawl: 'news', waitMs: 20_000 })).toMatchObject({
    status: 409,
    body: { type: 'refused', reason: 'cancelled', detail: "the crawl 'news' was cancelled" },
  })
  const unknown = await ask({ url: `${web.origins.new}/1`, crawl: 'news', waitMs: 20_000 })
  expect(unknown, 'where the rules are not known yet').toMatchObject({ status: 409, body: { reason: 'cancelled' } })
  expect(await ask({ url, crawl: 'No Name', waitMs: 0 })).toMatchObject({ status: 400, body: { type: 'bad-request' } })
})

test('an emergency stop: while everything is stopped no permit is granted and one in hand is answered so; once it is lifted they are granted again', async () => {
  const fleet = await shared([
    { name: 'site', robots: { body: '' } },
    { name: 'other', robots: { body: '' } },
  ])
  const ledger = await openLedger({ redis: fleet.redis.url, partitions: 1, leaseMs: 2_500, quarantineMs: 500 })
  onTestFinished(() => ledger.close())
  const [url, other] = [`${fleet.web.origins.site}/page`, `${fleet.web.origins.other}/page`]
  expect([await fleet.fetch(url), await fleet.fetch(other)]).toEqual([200, 200])
  let held = await fleet.ask({ url, waitMs: 2_000 })
  while (held.status === 200) held = await fleet.ask({ url, waitMs: 2_000 })
  expect(held.status).toBe(201)

  await ledger.stop({ names: [EVERYTHING], by: 'ann', reason: 'they wrote to us' })
  expect((await fleet.call('GET', `/v1/permits/${held.body.permit}`)).body).toMatchObject({ stop: 'stopped' })
  await fleet.complete(held.body.permit, { status: 200 })
  const during = await fleet.ask({ url: other, waitMs: 300 })
  expect(during).toMatchObject({ status: 200, body: { decision: 'wait', gate: 'stopped' } })

  await ledger.lift({ names: [EVERYTHING], by: 'ann', reason: '' })
  expect(await fleet.fetch(other)).toBe(200)
})

test('no permit lasts longer than PERMIT_MAX_MS, also where that is shorter than a lease', async () => {
  const { web, ask, call } = await permitFleet([{ name: 'short', robots: { body: '' } }], {
    env: { ...LONG_LEASES, PERMIT_MAX_MS: '1000' },
  })
  const asked = await ask({ url: `${web.origins.short}/1`, waitMs: 20_000 })
  expect(asked).toMatchObject({ status: 201, body: { leaseMs: 1_000 } })
  const extended = await call('PATCH', `/v1/permits/${asked.body.permit}`, {})
  expect(extended.body.leaseMs ?? 0).toBeLessThanOrEqual(1_000)
})
