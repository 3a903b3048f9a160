import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { expect, onTestFinished, test } from 'vitest'
import { LONG_LEASES, permitFleet, sharedPermitFleet, TIMES } from './fleet.ts'

const shared = sharedPermitFleet({ env: LONG_LEASES })

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** fetch would not let a Host header through. */
async function statusUnderName(base: string, host: string): Promise<number | undefined> {
  const sent = request(`${base}/v1/robots?url=http://a.example/`, { headers: { host } })
  sent.end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

test('tokens: who may ask, for which agents and crawls; a permit of another token is none', async () => {
  const env = {
    DECORUM_PERMIT_TOKENS: JSON.stringify([
      { name: 'one', token: 'a-token-of-one-1234', crawls: ['daily'] },
      { name: 'two', token: 'a-token-of-two-1234', maxWaiting: 1 },
    ]),
    ...LONG_LEASES,
  }
  const { web, ask, complete, url: base } = await permitFleet([{ name: 'tokens', robots: { body: '' } }], { env })
  const url = `${web.origins.tokens}/1`
  expect((await ask({ url })).status).toBe(401)
  expect((await ask({ url }, bearer('a-token-of-nobody-1'))).status).toBe(401)
  expect(await ask({ url }, bearer('a-token-of-one-1234'))).toMatchObject({ status: 403, body: { type: 'forbidden' } })
  const held = await ask({ url, crawl: 'daily', waitMs: 20_000 }, bearer('a-token-of-one-1234'))
  expect(held.status).toBe(201)
  expect((await complete(held.body.permit, {}, bearer('a-token-of-two-1234'))).status).toBe(404)
  const waiting = ask({ url, waitMs: 60_000 }, bearer('a-token-of-two-1234'))
  await expect.poll(async () => (await fetch(`${base()}/metrics`)).text()).toMatch(/^decorum_permits_waiting 1$/m)
  expect((await ask({ url }, bearer('a-token-of-two-1234'))).status).toBe(429)
  expect((await complete(held.body.permit, {}, bearer('a-token-of-one-1234'))).status).toBe(200)
  expect((await waiting).status).toBe(201)
})

test('who has no token is answered before the body comes, and a body of too many values is not parsed', async () => {
  const tokens = [{ name: 'one', token: 'a-token-of-one-1234' }]
  const { call, url: base } = await permitFleet([{ name: 'bodies', robots: { body: '' } }], {
    env: { DECORUM_PERMIT_TOKENS: JSON.stringify(tokens), ...LONG_LEASES },
  })
  const headers = { 'content-type': 'application/json', 'content-length': 10_000_000 }
  const sent = request(`${base()}/v1/permits/x/completion`, { method: 'POST', headers })
  sent.flushHeaders() // and nothing else
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(401)
  sent.destroy()
  const many = Array(60_000).fill({})
  expect(await call('POST', '/v1/permits/x/completion', many, bearer('a-token-of-one-1234'))).toMatchObject({
    status: 400,
    body: { detail: 'JSON of more than 50000 values' },
  })
})

test('bad input is named, a web page is refused, a guarded address or port and robots.txt are never granted', async () => {
  const { web, ask, call, url: fleetUrl } = await shared([{ name: 'bad', robots: { body: '' } }])
  const url = `${web.origins.bad}/1`
  for (const body of [
    {},
    { url, urls: [url] },
    { url: 7 },
    { urls: [] },
    { urls: Array.from({ length: 101 }, () => url) },
    { url: 'nonsense' },
    { url: 'ftp://a.example/' },
    { url, waitMs: 60_001 },
    { url, waitMs: -1 },
    { url, leaseMs: 'x' },
    { url, agent: 'nobody' },
    { url, more: 1 },
  ])
    expect(await ask(body), JSON.stringify(body)).toMatchObject({ status: 400 })
  const reasonOf = async (at: string): Promise<unknown> => {
    const { status, body } = await ask({ url: at })
    expect(status, at).toBe(409)
    return body.reason
  }
  expect(await reasonOf('http://10.0.0.1/')).toBe('guarded-address')
  expect(await reasonOf('http://[fe80::1]/')).toBe('guarded-address')
  expect(await reasonOf('http://127.0.0.1:6379/')).toBe('guarded-port')
  expect(await reasonOf(`${web.origins.bad}/robots.txt`)).toBe('robots-txt')
  expect(await reasonOf(`${web.origins.bad}/ROBOTS%2Etxt?x`)).toBe('robots-txt')
  expect((await ask({ url }, { headers: { origin: 'http://evil.example' } })).status).toBe(403)
  expect(await statusUnderName(fleetUrl(), 'evil.example')).toBe(403) // DNS rebinding
  expect(await call('GET', '/v1/permits/%ff')).toMatchObject({ status: 400, body: { type: 'bad-request' } })
  expect((await call('GET', '/openapi.json')).body).toMatchObject({ openapi: '3.1.1' })
  const robots = () => call('GET', `/v1/robots?url=${encodeURIComponent(url)}`)
  await expect.poll(async () => (await robots()).body.verdict).toBe('allowed')
  expect((await robots()).headers.get('cache-control')).toMatch(/^private, max-age=[1-9]/)
})

test('one Idempotency-Key, one permit; another body under it is refused', async () => {
  const { web, ask, expectPolite } = await shared([{ name: 'keys', robots: { body: '' } }])
  const url = `${web.origins.keys}/1`
  const key = { headers: { 'idempotency-key': 'k1' } }
  const [one, same] = await Promise.all([ask({ url, waitMs: 20_000 }, key), ask({ url, waitMs: 20_000 }, key)])
  expect(one.status).toBe(201)
  expect(same.body.permit).toBe(one.body.permit)
  expect((await ask({ url, waitMs: 20_000 }, key)).body.permit).toBe(one.body.permit)
  expect((await ask({ url: `${url}2`, waitMs: 20_000 }, key)).status).toBe(422)
  await expectPolite()
})

test('of several URLs the first that may go is granted, each lane once', async () => {
  const sites = ['x', 'y', 'z'].map((name) => ({ name, robots: { body: 'User-agent: *\nDisallow: /no' } }))
  const { web, ask } = await shared(sites)
  const urls = Object.values(web.origins).flatMap((origin) => [`${origin}/no`, `${origin}/1`])
  const granted = new Set<unknown>()
  for (let n = 0; n < 3; n++) {
    const { status, body } = await ask({ urls, waitMs: 20_000 })
    expect(status).toBe(201)
    expect(urls[Number(body.index)]).toBe(body.url)
    granted.add(body.url)
  }
  expect(granted).toEqual(new Set(urls.filter((url) => url.endsWith('/1'))))
  const never = [0, 2, 4].map((index) => ({ index, url: urls[index], type: 'disallowed' }))
  expect(await ask({ urls })).toMatchObject({ status: 200, body: { gate: 'lane-busy', refused: never } })
  expect(await ask({ urls: [...urls, 'nonsense'] })).toMatchObject({
    body: { refused: [{ index: 6, url: 'nonsense', type: 'bad-request' }, ...never] },
  })
  const forbidden = urls.filter((url) => url.endsWith('/no'))
  const refused = [{ index: 0 }, { index: 1 }, { index: 2 }]
  expect(await ask({ urls: forbidden })).toMatchObject({ status: 403, body: { type: 'disallowed', refused } })
})

test("the operator's hand: paused waits, blocked is refused, and a holder is answered that it must stop", async () => {
  const { web, ask, call, redis } = await shared([{ name: 'hand', robots: { body: '' } }])
  const origin = web.origins.hand as string
  const url = `${origin}/1`
  const ledger = await openLedgerWithViews({
    redis: redis.url,
    partitions: 1,
    leaseMs: TIMES.leaseMs,
    quarantineMs: TIMES.quarantineMs,
  })
  const held = await ask({ url, waitMs: 20_000 })
  await ledger.operate({ origin, by: 'test', reason: '', action: 'pause' }, ['journeybot'])
  expect(await call('PATCH', `/v1/permits/${held.body.permit}`, {})).toMatchObject({
    status: 200,
    body: { stop: 'paused' },
  })
  expect(await ask({ url })).toMatchObject({ status: 200, body: { gate: 'paused' } })
  await ledger.operate({ origin, by: 'test', reason: '', action: 'block' }, ['journeybot'])
  expect(await ask({ url })).toMatchObject({ status: 409, body: { reason: 'blocked' } })
  await ledger.close()
})

// The last one: the fleet has no Redis afterwards.
test('while Redis is away nothing is granted: 503, for those in line as well', async () => {
  const {
    web,
    ask,
    complete,
    call,
    redis,
    url: base,
  } = await shared([
    { name: 'away', robots: { body: '' } },
    { name: 'unknown', robots: { body: '' } },
  ])
  const url = `${web.origins.away}/1`
  const held = await ask({ url, waitMs: 20_000 })
  expect(held.status).toBe(201)
  const waiting = ask({ url, waitMs: 60_000 }, { away: true })
  await expect.poll(async () => (await fetch(`${base()}/metrics`)).text()).toMatch(/^decorum_permits_waiting 1$/m)
  await redis.kill9()
  expect((await waiting).status).toBe(503) // until then others are told that one is ahead of them
  expect((await ask({ url }, { away: true })).status).toBe(503)
  expect((await complete(held.body.permit, {}, { away: true })).status).toBe(503)
  for (const [method, path, body] of [
    ['GET', `/v1/robots?url=${encodeURIComponent(`${web.origins.unknown}/`)}`],
    ['PATCH', `/v1/permits/${held.body.permit}`, {}],
    ['DELETE', `/v1/permits/${held.body.permit}`],
  ] as [string, string, object?][])
    expect(await call(method, path, body, { away: true }), `${method} ${path}`).toMatchObject({
      status: 503,
      body: { type: 'ledger-away' },
    })
})

test('a Retry-After is believed of a limited token up to an hour or to what it may say, of others up to a day', async () => {
  const tokens = [
    { name: 'limited', token: 'a-token-of-limited-1', agents: ['journeybot'] },
    { name: 'more', token: 'a-token-of-more-1234', agents: ['journeybot'], maxRetryAfterMs: 7_200_000 },
    { name: 'all', token: 'a-token-of-all-12345' },
  ]
  const sites = tokens.map(({ name }) => ({ name, robots: { body: '' } }))
  const env = { DECORUM_PERMIT_TOKENS: JSON.stringify(tokens), ...LONG_LEASES }
  const { web, ask, complete, redis } = await permitFleet(sites, { env })
  const ledger = await openLedgerWithViews({
    redis: redis.url,
    partitions: 1,
    leaseMs: TIMES.leaseMs,
    quarantineMs: TIMES.quarantineMs,
  })
  onTestFinished(() => ledger.close())
  const closedFor = async (name: string, token: string, retryAfter: string) => {
    const url = `${web.origins[name]}/1`
    const held = await ask({ url, waitMs: 20_000 }, bearer(token))
    expect(held.status).toBe(201)
    await complete(held.body.permit, { status: 429, retryAfter }, bearer(token))
    expect(await ask({ url }, bearer('a-token-of-all-12345'))).toMatchObject({
      status: 200,
      body: { gate: 'back-off' },
    })
    const { backOff } = await ledger.viewOrigin(web.origins[name] as string, [])
    return ((backOff?.until ?? 0) - Date.now()) / 3_600_000
  }
  const jitter = 1.1
  const date = new Date(Date.now() + 5 * 86_400_000).toUTCString()
  for (const [name, token, asked, hours] of [
    ['limited', 'a-token-of-limited-1', date, 1],
    ['more', 'a-token-of-more-1234', '864000', 2],
    ['all', 'a-token-of-all-12345', '864000', 24],
  ] as const) {
    const closed = await closedFor(name, token, asked)
    expect(closed, name).toBeGreaterThan(hours * 0.99)
    expect(closed, name).toBeLessThan(hours * jitter)
  }
})
