/** Pools: stored URLs that are fetched by workers of others. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openContent, openFrontier } from '@decorum/client'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { testStore } from '../fetcher/support/object-store.ts'
import { LONG_LEASES, TIMES } from './fleet.ts'
import { AGENTS, poolFleet, sharedPoolFleet } from './pool.ts'

const ofPool = (id: string, url: string, more: object = {}) => ({ id, url, agent: 'poolbot', ...more })

describe('before one fleet', () => {
  const shared = sharedPoolFleet({ permits: 2, env: LONG_LEASES })

  test('each URL of a pool ends with its one outcome, reported by a worker; fetchers fetch the others and robots.txt', async () => {
    const fleet = await shared([
      {
        name: 'one',
        robots: { body: 'User-agent: *\nDisallow: /no\n' },
        paths: {
          '/page': { body: '<html lang="en"><meta name="robots" content="noindex">hello</html>' },
          '/moved': { status: 302, location: '{origin:two}/target' },
          '/gone': { status: 404 },
          '/ftp': { status: 301, location: 'ftp://a.example/' },
        },
      },
      {
        name: 'two',
        robots: { body: '' },
        paths: { '/busy': [{ status: 503, retryAfter: '1' }, {}], '/reset': [{ instead: 'reset' }, {}] },
      },
    ])
    const { one, two } = fleet.web.origins
    const ids = ['page', 'moved', 'gone', 'ftp', 'no', 'busy', 'reset', 'other']
    await fleet.enqueue([
      ofPool('page', `${one}/page`, { meta: { depth: 2 } }),
      ...['moved', 'gone', 'ftp', 'no'].map((id) => ofPool(id, `${one}/${id}`)),
      ...['busy', 'reset'].map((id) => ofPool(id, `${two}/${id}`, { priority: 'high' })),
      { id: 'other', url: `${two}/other`, agent: 'journeybot' },
    ])
    const ended = await fleet.workUntil(ids, 3)
    const body = '<html lang="en"><meta name="robots" content="noindex">hello</html>'
    expect(ended.get('page')).toMatchObject({
      kind: 'fetched',
      status: 200,
      bytes: body.length,
      agent: 'poolbot',
      attempts: 1,
      meta: { depth: 2 },
      says: { robots: ['noindex'], language: 'en' },
      truncated: '',
    })
    const moved = ended.get('moved')
    expect(moved).toMatchObject({ kind: 'redirected', status: 302, to: `${two}/target` })
    expect(ended.get('gone')).toMatchObject({ kind: 'fetched', status: 404 })
    expect(ended.get('ftp')).toMatchObject({ kind: 'failed', reason: 'bad-redirect' })
    expect(ended.get('no')).toMatchObject({ kind: 'disallowed', line: 2 })
    expect(ended.get('busy')).toMatchObject({ kind: 'fetched', attempts: 2 })
    expect(ended.get('reset')).toMatchObject({ kind: 'fetched', attempts: 2 })
    expect(ended.get('other')).toMatchObject({ kind: 'fetched', agent: 'journeybot' })
    const target = moved?.kind === 'redirected' ? moved.candidate : ''
    expect((await fleet.workUntil([target])).get(target)).toMatchObject({ kind: 'fetched', url: `${two}/target` })
    await fleet.expectPolite()
  })

  test('fewer attempts of a crawl count at once, for an order that was given out before as well', async () => {
    const fleet = await shared([{ name: 'few', robots: { body: '' } }])
    await fleet.enqueue([ofPool('few', `${fleet.web.origins.few}/page`)])
    const { permit } = await fleet.takeOrder()
    const ledger = await openLedgerWithViews({
      redis: fleet.redis.url,
      partitions: 1,
      leaseMs: 5_000,
      quarantineMs: 100,
    })
    const set = (attempts: number | null) =>
      ledger.changeCrawl({ name: 'default', change: { settings: { attempts } }, by: 'test', reason: '' })
    await set(1)
    onTestFinished(async () => {
      await set(null) // other tests have the fleet after this one
      await ledger.close()
    })
    expect((await fleet.complete(permit, { error: 'it broke off', reason: 'reset' })).status).toBe(200)
    const ended = (await fleet.outcomesOf(['few'])).get('few')
    expect(ended).toMatchObject({ kind: 'failed', reason: 'reset', attempts: 1 })
  })

  test("the operator's hand: of a paused origin nothing is ordered, of a blocked one it is refused, and a holder is answered so", async () => {
    const fleet = await shared([{ name: 'hand', robots: { body: '' } }])
    const origin = fleet.web.origins.hand as string
    const ledger = await openLedgerWithViews({
      redis: fleet.redis.url,
      partitions: 1,
      leaseMs: TIMES.leaseMs,
      quarantineMs: TIMES.quarantineMs,
    })
    const operate = (action: 'pause' | 'resume' | 'block') =>
      ledger.operate({ origin, by: 'test', reason: '', action }, ['poolbot', 'journeybot'])
    await fleet.enqueue([ofPool('a', `${origin}/1`), ofPool('b', `${origin}/2`)])
    const order = await fleet.takeOrder()
    await operate('pause')
    expect(await fleet.call('PATCH', `/v1/permits/${order.permit}`, {})).toMatchObject({
      status: 200,
      body: { stop: 'paused' },
    })
    expect(await fleet.call('GET', `/v1/permits/${order.permit}`)).toMatchObject({
      status: 200,
      body: { stop: 'paused' },
    })
    await fleet.carryOut(order)
    expect(await fleet.takeOrders('?waitMs=1500')).toEqual([])
    await operate('resume')
    await operate('block')
    expect((await fleet.outcomesOf(['b'])).get('b')).toMatchObject({ kind: 'refused', reason: 'blocked-by-operator' })
    await ledger.close()
  })

  test('further requests of a page wait for the delay under the same order, and stay within the rules', async () => {
    const fleet = await shared([
      { name: 'page', robots: { body: 'User-agent: *\nDisallow: /no\n' } },
      { name: 'cdn', robots: { body: '' } },
    ])
    const { page, cdn } = fleet.web.origins
    await fleet.enqueue([ofPool('a', `${page}/1`), ofPool('b', `${page}/2`)])
    const order = await fleet.takeOrder()
    const userAgent = AGENTS[0]?.userAgent as string
    const send = async (url: string): Promise<void> =>
      void (await (await fetch(url, { headers: { 'user-agent': userAgent } })).arrayBuffer())
    const next = (url: string) => fleet.call('POST', `/v1/permits/${order.permit}/requests`, { url })
    await send(order.url)
    for (const n of [1, 2, 3]) {
      expect(await next(`${page}/part-${n}`)).toMatchObject({ status: 201, body: { url: `${page}/part-${n}` } })
      await send(`${page}/part-${n}`)
    }
    expect(await next(`${page}/no`)).toMatchObject({ status: 403, body: { type: 'disallowed' } })
    expect(await next(`${cdn}/x`)).toMatchObject({ status: 400 })
    const other = await fleet.ask({ url: `${cdn}/x`, agent: 'poolbot', waitMs: 20_000 })
    expect(other.status).toBe(201)
    await send(`${cdn}/x`)
    expect((await fleet.complete(other.body.permit, { status: 200 })).status).toBe(200)
    await fleet.complete(order.permit, { status: 200, load: { status: 429, retryAfter: '1' } })
    expect((await fleet.workUntil(['a', 'b'])).get('a')).toMatchObject({ kind: 'fetched', status: 200 })
    await fleet.expectPolite()
  })
})

describe('before a fleet that is strict', async () => {
  const pages = await mkdtemp(join(tmpdir(), 'decorum-pool-'))
  afterAll(() => rm(pages, { recursive: true, force: true }))
  const STRICT = {
    MAX_ATTEMPTS: '2',
    PERMIT_MAX_MS: '10000',
    PAGE_MAX_BYTES: '2000',
    LEASE_MS: '5000',
    FETCH_DEADLINE_MS: '4000',
    PAGE_SINK: 'folder',
    ARCHIVE_DIR: pages,
  }
  const strict = sharedPoolFleet({ env: STRICT })

  // The first one before this fleet: no worker has asked it for anything yet.
  test('without a worker nothing of a pool is fetched, and what expires says so', async () => {
    const fleet = await strict([{ name: 'none', robots: { body: '' } }])
    const url = `${fleet.web.origins.none}/1`
    const robots = ofPool('robots', `${fleet.web.origins.none}/robots.txt`)
    await fleet.enqueue([robots])
    expect((await fleet.outcomesOf(['robots'])).get('robots')).toMatchObject({ kind: 'fetched', status: 200 })
    const robotsOf = () => fleet.call('GET', `/v1/robots?url=${encodeURIComponent(url)}&agent=poolbot`)
    await expect.poll(async () => (await robotsOf()).body.verdict).toBe('allowed') // or it might expire before they are known
    await fleet.enqueue([ofPool('late', url, { expiresAt: Date.now() + 3_000 }), ofPool('later', `${url}2`)])
    expect((await fleet.outcomesOf(['late'])).get('late')).toMatchObject({ kind: 'expired', reason: 'pool' })
    const { requests } = await fleet.web.evidence()
    expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(['/robots.txt']))
    expect((await fleet.workUntil(['later'])).get('later')).toMatchObject({ kind: 'fetched' })
    const { examples } = await fleet.audit()
    // a frontier's own candidate of robots.txt comes on top of what the fleet asks for
    expect(examples.filter(({ offence }) => offence !== 'robots-too-often')).toEqual([])
  })

  test('a worker that dies: the lane is closed for lease and quarantine, then the URL is tried again, and at last fails', async () => {
    const fleet = await strict([{ name: 'dies', robots: { body: '' } }])
    await fleet.enqueue([ofPool('a', `${fleet.web.origins.dies}/1`)])
    const at = performance.now() // before the lease: its answer may lie unread
    const first = await fleet.takeOrder()
    const second = await fleet.takeOrder()
    expect(performance.now() - at).toBeGreaterThanOrEqual(first.leaseMs + TIMES.quarantineMs)
    expect([first.attempt, second.attempt, second.id]).toEqual([1, 2, 'a'])
    expect(await fleet.complete(first.permit, { status: 200 })).toMatchObject({ status: 410, body: { type: 'gone' } })
    const ended = await fleet.outcomesOf(['a'])
    expect(ended.get('a')).toMatchObject({ kind: 'failed', reason: 'lease-expired', attempts: 2 })
    expect(await fleet.complete(second.permit, { status: 200 })).toMatchObject({ status: 410 })
    await fleet.outcomesOf(['a'])
  })

  test('a late report: its page is not kept as that of the next URL, and a Retry-After counts although its URL has left', async () => {
    const fleet = await strict([{ name: 'tardy', robots: { body: '' } }])
    const url = `${fleet.web.origins.tardy}/1`
    await fleet.enqueue([ofPool('first', url), ofPool('second', `${url}2`)])
    const late = await fleet.takeOrder()
    const again = await fleet.takeOrder()
    expect([late.id, again.id]).toEqual(['first', 'first'])
    await fleet.carryOut(again)
    const before = (await readdir(pages, { recursive: true })).length
    const body = Buffer.from('of the first URL').toString('base64')
    expect(await fleet.complete(late.permit, { status: 200, body })).toMatchObject({ status: 410 })
    expect(await readdir(pages, { recursive: true })).toHaveLength(before)
    await fleet.workUntil(['first', 'second'])
    expect(await fleet.complete(late.permit, { status: 429, retryAfter: '60' })).toMatchObject({ status: 410 })
    await fleet.enqueue([ofPool('third', `${url}3`, { expiresAt: Date.now() + 2_000 })])
    expect((await fleet.workUntil(['third'])).get('third')).toMatchObject({ kind: 'expired', reason: 'back-off' })
  })

  test('an order lasts as long as it is extended, ends once however often it is completed, and what cannot be read ends nothing', async () => {
    const fleet = await strict([{ name: 'long', robots: { body: '' } }])
    const origin = fleet.web.origins.long
    await fleet.enqueue([ofPool('a', `${origin}/1`), ofPool('b', `${origin}/2`)])
    const order = await fleet.takeOrder()
    const until = performance.now() + Number(STRICT.LEASE_MS) + TIMES.quarantineMs + 500
    while (performance.now() < until) {
      const held = await fleet.call('PATCH', `/v1/permits/${order.permit}`, {})
      expect(held).toMatchObject({ status: 200, body: { sendWithinMs: expect.any(Number) } })
      await sleep(200)
    }
    expect(await fleet.takeOrders()).toEqual([]) // its lane is still held
    const tooLong = Buffer.alloc(2_003).toString('base64')
    for (const body of [
      {},
      { status: 7 },
      { status: 200, bytes: 5 },
      { status: 200, body: '%' },
      { status: 200, body: tooLong },
      { status: 200, more: 1 },
      { status: 200, headers: { a: 'b' } },
      { status: 200, headers: [['a\r\n', 'b']] },
      { status: 200, headers: [['a', 'b\r\nc: d']] },
      { status: 200, headers: Array(10).fill(['a', 'b'.repeat(60_000)]) },
      { status: 200, body: 'aGVsbG8=', digest: `sha1:${'A'.repeat(32)}` },
    ])
      expect(await fleet.complete(order.permit, body), JSON.stringify(body)).toMatchObject({ status: 400 })
    const good = {
      status: 200,
      headers: [['content-type', 'text/plain']],
      body: Buffer.from('hello').toString('base64'),
    }
    for (let n = 0; n < 2; n++) expect((await fleet.complete(order.permit, good)).status).toBe(200)
    expect((await fleet.outcomesOf(['a'])).get('a')).toMatchObject({
      bytes: 5,
      digest: 'sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N',
    })
    const next = await fleet.takeOrder()
    expect(next.id).toBe('b')
    const gone = { status: 410 }
    await expect
      .poll(async () => await fleet.call('PATCH', `/v1/permits/${next.permit}`, {}), { interval: 300 })
      .toMatchObject(gone)
  })
})

/** The first of them, by id. */
async function outcomesOfCrawl(redis: string, crawl: string, count: number) {
  const frontier = await openFrontier({ redis, crawl })
  const ended = new Map<string, object>()
  try {
    for await (const { outcome } of frontier.outcomes({ group: `look-${count}` })) {
      ended.set(outcome.id, outcome)
      if (ended.size === count) break
    }
  } finally {
    await frontier.close()
  }
  return ended
}

test('a crawl may name a pool: its pages go to the workers, whatever the agent, and those of others to the fetchers', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-pool-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const noPools = JSON.stringify(AGENTS.map(({ pool: _, ...agent }) => agent))
  const fleet = await poolFleet([{ name: 'shared', robots: { body: 'User-agent: *\nDisallow: /no\n' } }], {
    env: { ...LONG_LEASES, DECORUM_AGENTS: noPools, ARCHIVE_DIR: folder },
  })
  const { shared } = fleet.web.origins
  expect(await fleet.call('POST', '/v1/pools/renderers/orders?waitMs=0')).toMatchObject({ status: 404 })
  const ledger = await openLedgerWithViews({ redis: fleet.redis.url, partitions: 1, leaseMs: 5_000, quarantineMs: 100 })
  onTestFinished(() => ledger.close())
  const set = (pool: string | null) =>
    ledger.changeCrawl({ name: 'rendered', change: { settings: { pool } }, by: 'test', reason: '' })
  await expect(set('Renderers')).rejects.toThrow('a pool is named with 1 to 64 lower-case letters, digits and hyphens')
  await set('browsers')
  const rendered = { agent: 'journeybot', crawl: 'rendered' }
  await fleet.enqueue([
    { id: 'page', url: `${shared}/page`, ...rendered },
    { id: 'no', url: `${shared}/no`, ...rendered },
    { id: 'plain', url: `${shared}/plain`, agent: 'journeybot' },
  ])
  const order = await fleet.takeOrder()
  expect(order).toMatchObject({ id: 'page', url: `${shared}/page`, agent: 'journeybot' })
  expect(await fleet.carryOut(order)).toMatchObject({ status: 200 })
  expect((await fleet.outcomesOf(['plain'])).get('plain')).toMatchObject({ kind: 'fetched', agent: 'journeybot' })
  const ended = await outcomesOfCrawl(fleet.redis.url, 'rendered', 2)
  expect(ended.get('page')).toMatchObject({
    ...{ kind: 'fetched', crawl: 'rendered', archive: { ref: expect.stringMatching(/^warc\+/) } },
  })
  expect(ended.get('no')).toMatchObject({ kind: 'disallowed' })
  await set(null)
  await fleet.enqueue([{ id: 'later', url: `${shared}/later`, ...rendered }])
  expect((await outcomesOfCrawl(fleet.redis.url, 'rendered', 3)).get('later')).toMatchObject({ kind: 'fetched' })
  await fleet.expectPolite()
})

test('what a worker returns unused is ordered again and counts no attempt; a quota, a foreign token and a foreign pool are refused', async () => {
  const tokens = [
    { name: 'all', token: 'a-token-of-all-12345' },
    { name: 'other', token: 'a-token-of-other-123', pools: ['others'] },
    { name: 'agent', token: 'a-token-of-agent-123', agents: ['journeybot'] },
    { name: 'crawl', token: 'a-token-of-crawl-123', crawls: ['daily'] },
  ]
  const fleet = await poolFleet([{ name: 'back', robots: { body: '' } }], {
    env: { ...LONG_LEASES, DECORUM_PERMIT_TOKENS: JSON.stringify(tokens) },
  })
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const all = bearer('a-token-of-all-12345')
  await fleet.enqueue([ofPool('a', `${fleet.web.origins.back}/1`)])
  const take = async (token: object, pool = 'browsers') =>
    fleet.call('POST', `/v1/pools/${pool}/orders?waitMs=5000`, undefined, token)
  for (const token of ['a-token-of-other-123', 'a-token-of-agent-123', 'a-token-of-crawl-123'])
    expect(await take(bearer(token)), token).toMatchObject({ status: 403, body: { type: 'forbidden' } })
  expect((await take({})).status).toBe(401)
  expect(await take(all, 'nobodys')).toMatchObject({ status: 404 })
  for (const query of ['max=0', 'max=101', 'waitMs=-1', 'waitMs=60001', 'max=x'])
    expect(await fleet.call('POST', `/v1/pools/browsers/orders?${query}`, undefined, all), query).toMatchObject({
      status: 400,
    })
  const order = async () => {
    for (;;) {
      const [one] = (await take(all)).body.orders as { permit: string; attempt: number }[]
      if (one !== undefined) return one
    }
  }
  const first = await order()
  expect((await fleet.complete(first.permit, { status: 200 }, bearer('a-token-of-other-123'))).status).toBe(404)
  expect(await fleet.call('DELETE', `/v1/permits/${first.permit}`, undefined, all)).toMatchObject({ status: 200 })
  const again = await order()
  expect(again.attempt).toBe(1)
  expect((await fleet.complete(again.permit, { status: 200 }, all)).status).toBe(200)
  expect((await fleet.outcomesOf(['a'])).get('a')).toMatchObject({ kind: 'fetched', attempts: 1, bytes: 0 })
})

test('pages of a pool go to the store of the fleet; while it takes none and the folder is full, no orders are handed out', async () => {
  const store = await testStore()
  const { access } = store
  const folder = await mkdtemp(join(tmpdir(), 'decorum-pool-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const env = {
    ...LONG_LEASES,
    PAGE_SINK: 's3',
    S3_ENDPOINT: access.endpoint,
    S3_BUCKET: `${access.bucket}/${access.prefix}`,
    S3_ACCESS_KEY_ID: access.accessKeyId,
    S3_SECRET_ACCESS_KEY: access.secretAccessKey,
    ARCHIVE_MAX_BYTES: '30000', // room for the robots.txt of all and one page, which completes a file
    ARCHIVE_DIR: folder,
  }
  const bytesThere = async (): Promise<number> => {
    const sizes = (await readdir(folder)).map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }
  store.door = { kind: 'status', status: 507 }
  const body = randomBytes(20_000).toString('base64') // does not shrink
  const names = ['a', 'b', 'c']
  const sites = names.map((name) => ({ name, robots: { body: '' }, paths: { '/page': { body } } }))
  const fleet = await poolFleet(sites, { env })
  await fleet.enqueue(names.map((name) => ofPool(name, `${fleet.web.origins[name]}/page`)))
  // A file that is being renamed counts for nothing here, so the folder may be full although it does not look so.
  while ((await bytesThere()) < 30_000)
    for (const order of await fleet.takeOrders('?waitMs=500')) await fleet.carryOut(order)
  const refused = store.seen.length
  await expect.poll(() => store.seen.length).toBeGreaterThan(refused + 2) // the folder has been looked at since
  await fleet.enqueue([ofPool('d', `${fleet.web.origins.a}/page`)])
  expect(await fleet.takeOrders('?waitMs=1000')).toEqual([])
  store.door = { kind: 'open' }
  const ended = await fleet.workUntil([...names, 'd'])
  await expect.poll(() => store.names().filter((name) => name.endsWith('.warc.gz')).length).toBeGreaterThan(2)
  let read = 0
  for (const outcome of ended.values()) {
    const archive = outcome.kind === 'fetched' ? outcome.archive : undefined
    if (!store.names().includes(access.prefix + archive?.file)) continue // its file is not complete yet
    const content = await openContent(archive?.ref ?? '', { s3: access })
    expect(await content.text(), outcome.id).toBe(body)
    read++
  }
  expect(read, 'there was room for the last one when another was in the store').toBeGreaterThan(0)
  await fleet.expectPolite()
})

test('what workers hold and extend takes no slot of the fetchers, whatever the permits process remembers', async () => {
  const sites = Array.from({ length: 6 }, (_, n) => ({ name: `held${n}`, robots: { body: '' } }))
  const fleet = await poolFleet([...sites, { name: 'other', robots: { body: '' } }], {
    env: { ...LONG_LEASES, FETCH_CONCURRENCY: '1', FETCH_PROCESSES: '0' },
  })
  await fleet.enqueue(sites.map(({ name }) => ofPool(name, `${fleet.web.origins[name]}/page`)))
  const orders = []
  while (orders.length < sites.length) {
    orders.push(await fleet.takeOrder())
    for (const { permit } of orders) await fleet.call('PATCH', `/v1/permits/${permit}`, {})
  }
  const [process] = fleet.fleet.of('permits')
  process?.kill() // what it knew of its workers is gone with it
  await fleet.enqueue([{ id: 'other', url: `${fleet.web.origins.other}/page`, agent: 'journeybot' }])
  expect((await fleet.outcomesOf(['other'])).get('other')).toMatchObject({ kind: 'fetched' })
})
