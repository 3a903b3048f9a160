/** A real gateway on a real Redis; the fetcher's part is played by hand. */

import { randomBytes } from 'node:crypto'
import { main } from '@decorum/gateway'
import { partitionOf, partitionTags } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type HandFetcher, handFetcher } from './support/hand-fetcher.ts'
import { type OutcomeWatch, producer, watchOutcomes } from './support/outcomes.ts'

const redis = await redisForTest()
const PARTITIONS = 2
const tags = partitionTags(PARTITIONS)
const [first, second] = tags as [string, string]
const settings = {
  REDIS_URL: redis.url,
  DECORUM_PARTITIONS: String(PARTITIONS),
  DECORUM_CONTACT: 'https://bot.example/',
  DEFAULT_DELAY_MS: '0',
  LOG_LEVEL: 'silent',
}

let gateway: Awaited<ReturnType<typeof main>>
let fetcher: HandFetcher
let outcomes: OutcomeWatch
let into: ReturnType<typeof producer>[]

beforeAll(async () => {
  gateway = await main(settings)
  fetcher = await handFetcher(redis.url, PARTITIONS)
  outcomes = watchOutcomes(redis.url, tags)
  into = [producer(redis.url, first), producer(redis.url, second)]
})
afterAll(async () => {
  await Promise.all(into.map((queue) => queue.close()))
  outcomes.close()
  await fetcher.close()
  await gateway.stop()
})

/** A host that nobody else uses, in the partition asked for. */
function host(partition: number): string {
  for (;;) {
    const name = `h${randomBytes(4).toString('hex')}.example`
    if (partitionOf(name, PARTITIONS) === partition) return name
  }
}
const idsOf = async (count: number) => (await outcomes.until(count)).map(({ id }) => id)
const outcomeOf = async (id: string) => (await outcomes.all()).filter((one) => one.id === id)

test('a cold origin is asked for its robots.txt once; then its URLs go out one after another', async () => {
  const site = host(0)
  await into[0]?.add('c', { candidates: [1, 2].map((n) => ({ id: `cold-${n}`, url: `http://${site}/${n}` })) })
  const asks = await fetcher.next()
  expect(asks).toMatchObject({ kind: 'robots', path: '/robots.txt', origin: `http://${site}` })
  await fetcher.start(asks)
  expect(fetcher.pending()).toBe(0)
  await fetcher.rules(asks, 404)
  for (const path of ['/1', '/2']) {
    const order = await fetcher.next()
    expect(order).toMatchObject({ kind: 'page', path, attempt: 1 })
    await fetcher.start(order)
    expect(fetcher.pending()).toBe(0)
    await fetcher.page(order)
  }
  expect(await outcomeOf('cold-2')).toMatchObject([{ kind: 'fetched', attempts: 1 }])
})

test('disallowed URLs get their outcome without a request; at intake when the rules are already known', async () => {
  const site = host(1)
  const before = (await outcomes.all()).length
  await into[1]?.add('c', {
    candidates: ['x1', 'x2', 'ok'].map((name) => ({ id: `dis-${name}`, url: `http://${site}/${name}` })),
  })
  const asks = await fetcher.next()
  await fetcher.start(asks)
  await fetcher.rules(asks, 200, 'user-agent: *\ndisallow: /x')
  const order = await fetcher.next()
  expect(order.path).toBe('/ok')
  await fetcher.start(order)
  await into[1]?.add('c', { id: 'dis-late', url: `http://${site}/x3` })
  await idsOf(before + 3)
  expect(await outcomeOf('dis-late')).toMatchObject([
    { kind: 'disallowed', rule: 'disallow: /x', line: 2, group: ['*'] },
  ])
  await fetcher.page(order)
})

test('URLs of a mixed batch go to their own partitions, whichever queue they came in by', async () => {
  const [here, there] = [host(0), host(1)]
  await into[0]?.add('c', { candidates: [here, there].map((name) => ({ id: `mix-${name}`, url: `http://${name}/` })) })
  const orders = [await fetcher.next(), await fetcher.next()]
  expect(orders.map(({ origin }) => origin).toSorted()).toEqual([`http://${here}`, `http://${there}`].toSorted())
  expect((await fetcher.ledger.viewOrigin(`http://${there}`, ['decorum'])).lanes[0]).toMatchObject({ waiting: 1 })
  // Orders that nobody begins come again when their reservations end, to whichever test asks next.
  for (const asks of orders) {
    await fetcher.start(asks)
    await fetcher.rules(asks, 404)
  }
  for (const _ of orders) {
    const page = await fetcher.next()
    await fetcher.start(page)
    await fetcher.page(page)
  }
})

test.each([
  ['an unknown job shape', { nonsense: true }, 'bad-job'],
  ['an empty job', {}, 'bad-job'],
  [
    'a list that is too long',
    { candidates: Array.from({ length: 1_001 }, () => ({ url: 'http://a.example/' })) },
    'bad-job',
  ],
  ['a candidate that is a number', { candidates: [7] }, 'bad-candidate'],
  ['javascript:', { url: 'javascript:alert(1)' }, 'scheme-not-supported'],
  ['ftp:', { url: 'ftp://a.example/' }, 'ftp-not-supported'],
  ['a 1 MB URL', { url: `http://a.example/${'x'.repeat(1_000_000)}` }, 'url-too-long'],
  ['an unknown agent', { url: 'http://a.example/', agent: 'nobody' }, 'unknown-agent'],
  ['credentials', { url: 'http://me:secret@a.example/' }, 'user-info'],
  ['meta that is too large', { url: 'http://a.example/', meta: { text: 'x'.repeat(5_000) } }, 'meta-too-large'],
])('%s ends as invalid with its reason, and the next job is taken', async (_, data, reason) => {
  const before = (await outcomes.all()).length
  await into[0]?.add('c', data)
  const [outcome] = (await outcomes.until(before + 1)).filter((one) => one.kind === 'invalid' && one.reason === reason)
  expect(outcome).toBeDefined()
  expect(JSON.stringify(outcome)).not.toContain('secret')
})

test('a redirect becomes a candidate of its own: its robots, its lane, once', async () => {
  const [from, to] = [host(0), host(1)]
  await into[0]?.add('c', { id: 'hop', url: `http://${from}/`, meta: { depth: 1 } })
  const asks = await fetcher.next()
  await fetcher.start(asks)
  await fetcher.rules(asks, 404)
  const order = await fetcher.next()
  await fetcher.start(order)
  await fetcher.page(order, { to: `http://${to}/landed`, id: 'hop~1' })
  const there = await fetcher.next()
  expect(there).toMatchObject({ kind: 'robots', origin: `http://${to}`, id: 'hop~1', hops: 1 })
  await fetcher.start(there)
  await fetcher.rules(there, 200, 'user-agent: *\ndisallow: /landed')
  await expect.poll(() => outcomeOf('hop~1')).toMatchObject([{ kind: 'disallowed' }])
  expect(await outcomeOf('hop')).toMatchObject([
    { kind: 'redirected', to: `http://${to}/landed`, candidate: 'hop~1', meta: { depth: 1 } },
  ])
})

test('an id that is stored is absorbed; after its outcome it is free again', async () => {
  const site = host(0)
  const job = { id: 'twice', url: `http://${site}/` }
  await into[0]?.add('c', job)
  await into[0]?.add('c', job)
  const asks = await fetcher.next()
  await fetcher.start(asks)
  await fetcher.rules(asks, 404)
  const order = await fetcher.next()
  await fetcher.start(order)
  await expect.poll(() => into[0]?.getJobCounts('active', 'wait')).toEqual({ active: 0, wait: 0 })
  expect((await fetcher.ledger.viewOrigin(`http://${site}`, ['decorum'])).lanes[0]).toMatchObject({ waiting: 1 })
  await fetcher.page(order)
  await into[0]?.add('c', job)
  const again = await fetcher.next()
  await fetcher.start(again)
  await fetcher.page(again)
  expect(await outcomeOf('twice')).toHaveLength(2)
})

test('a job whose data is not JSON is set aside with an outcome, and the queue goes on', async () => {
  const raw = new Redis(redis.url)
  const queue = into[0]
  await queue?.pause()
  const job = await queue?.add('c', { url: 'http://a.example/' })
  await raw.hset(`${first}:candidates:${job?.id}`, 'data', '{"candidates": [')
  await queue?.add('c', { id: 'behind-the-broken', url: 'nonsense' })
  await queue?.resume()
  await expect.poll(() => outcomeOf(`#:${job?.id}.0`)).toMatchObject([{ kind: 'invalid', reason: 'undecodable-job' }])
  await expect.poll(() => outcomeOf('behind-the-broken')).toMatchObject([{ kind: 'invalid' }])
  await expect.poll(() => queue?.getJobCounts('active', 'wait')).toEqual({ active: 0, wait: 0 })
  expect(await raw.exists(`${first}:candidates:${job?.id}`)).toBe(0)
  raw.disconnect()
})
