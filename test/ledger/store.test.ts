/** store: URLs into lanes; idempotent, bounded, and never before a delay is over. */
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { laneUrls } from '../support/lane-urls.ts'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, ORIGIN, outcomeOf, TAG, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()

/** A job as BullMQ keeps it while a worker has it in hand. @returns the mark of its first chunk */
async function jobInHand(
  raw: Redis,
  job: string,
  token = 'worker:0',
): Promise<{ job: string; token: string; chunk: 0 }> {
  const key = `${TAG}:candidates:${job}`
  await raw.multi().hset(key, 'data', '{}').set(`${key}:lock`, token).exec()
  return { job, token, chunk: 0 }
}

test('stored URLs leave in the order in which they came', async () => {
  const { ledger, reserveOne } = await emptyLedger(redis)
  expect(await ledger.store(0, urls('a', 'b', 'c'))).toEqual({ stored: 3, absorbed: 0, outcomes: 0 })
  const lane = await reserveOne({ peek: 3 })
  expect(lane.urls.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

test('a candidate whose id is stored is absorbed, in the same call and in a later one', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  expect(await ledger.store(0, urls('a', 'a'))).toEqual({ stored: 1, absorbed: 1, outcomes: 0 })
  expect(await ledger.store(0, [url('a', { path: '/elsewhere', origin: 'http://other.test' })])).toMatchObject({
    absorbed: 1,
  })
  expect(await laneUrls(raw, TAG, `bot ${ORIGIN}`)).toHaveLength(1)
})

test('the same URL under two ids is two candidates', async () => {
  const { ledger } = await emptyLedger(redis)
  expect(await ledger.store(0, [url('a', { path: '/x' }), url('b', { path: '/x' })])).toMatchObject({ stored: 2 })
})

test('an id is free again once it has its outcome', async () => {
  const { ledger, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane)
  expect(await ledger.store(0, urls('a')), 'in flight it is still stored').toMatchObject({ absorbed: 1 })
  await finish(lane)
  expect(await ledger.store(0, urls('a'))).toMatchObject({ stored: 1 })
})

test('the same job delivered again stores nothing, even when its URLs have left meanwhile', async () => {
  const { ledger, raw, reserveOne, startPage, finish, outcomes } = await emptyLedger(redis)
  const mark = await jobInHand(raw, 'j1')
  expect(await ledger.store(0, urls('a'), mark)).toMatchObject({ stored: 1 })
  const lane = await reserveOne()
  await startPage(lane)
  await finish(lane)
  const again = [...urls('a'), { outcome: outcomeOf('x', { kind: 'invalid', reason: 'not-a-url' }) }]
  expect(await ledger.store(0, again, mark)).toEqual({ stored: 0, absorbed: 2, outcomes: 0 })
  expect(await outcomes()).toHaveLength(1)
})

test('a frontier adds its job again, without an answer to the first time: stored once, though its job has left', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  const added = () => jobInHand(raw, 'f0123456789abcdef-7')
  const mark = await added()
  const assigned = () => ledger.store(0, urls('#:f0123456789abcdef-7.0', '#:f0123456789abcdef-7.1'), mark)
  expect(await assigned()).toMatchObject({ stored: 2, absorbed: 0 })
  await raw.del(`${TAG}:candidates:${mark.job}`)
  await added()
  expect(await assigned()).toMatchObject({ stored: 0, absorbed: 2 })
  expect(await raw.pttl(keys.mark(`${mark.job}:0`)), 'remembered for an hour').toBeLessThanOrEqual(3_600_000)
})

test('assigned ids are unique where they come from: none is stored beside its URL, none is looked up', async () => {
  const { ledger, raw, reserveOne, startPage, finish, outcomes } = await emptyLedger(redis)
  expect(await ledger.store(0, [...urls('#:1.0', '#:1.1'), url('#:1.2', { priority: 'high' })])).toEqual({
    stored: 3,
    absorbed: 0,
    outcomes: 0,
  })
  expect(await raw.keys(keys.ids('*'))).toEqual([])
  const lane = await reserveOne()
  expect(lane.urls).toMatchObject([{ id: '#:1.2', priority: 'high' }])
  await startPage(lane)
  await finish(lane)
  expect(await outcomes()).toMatchObject([{ id: '#:1.2' }])
})

test('each chunk of a job has its own mark', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  const mark = await jobInHand(raw, 'j1')
  await ledger.store(0, urls('a'), mark)
  expect(await ledger.store(0, urls('b'), { ...mark, chunk: 1 })).toMatchObject({ stored: 1 })
})

test('a job that is gone was done by another worker: one that wakes late stores nothing for it', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  const mark = { job: 'gone', token: 'late', chunk: 0 }
  expect(await ledger.store(0, urls('a'), mark)).toEqual({ stored: 0, absorbed: 1, outcomes: 0 })
  expect(await raw.exists(`${TAG}:candidates:gone`), 'and no job is made up').toBe(0)
})

test('a worker that wakes late neither stores nor marks anything in a later job of the same name', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  const yesterday = await jobInHand(raw, 'nightly', 'frozen worker')
  await raw.del(`${TAG}:candidates:nightly`, `${TAG}:candidates:nightly:lock`) // another gateway has finished it
  await raw.hset(`${TAG}:candidates:nightly`, 'data', '{}') // today's, waiting in the queue
  expect(await ledger.store(0, urls('old'), yesterday)).toEqual({ stored: 0, absorbed: 1, outcomes: 0 })
  const today = await jobInHand(raw, 'nightly', 'another worker')
  expect(await ledger.store(0, urls('old'), yesterday)).toEqual({ stored: 0, absorbed: 1, outcomes: 0 })
  expect(await ledger.store(0, urls('new'), today)).toMatchObject({ stored: 1 })
})

test('a chunk marked by a key is stored once, also for a gateway that comes with it when its job is done', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  const mark = { key: 'job:3:j1:0' }
  expect(await ledger.store(0, urls('a'), mark)).toMatchObject({ stored: 1 })
  expect(await ledger.store(0, urls('b'), mark)).toMatchObject({ stored: 0, absorbed: 1 })
  expect(await raw.pttl(keys.mark('job:3:j1:0')), 'the mark ends by itself').toBeGreaterThan(86_400_000)
  await ledger.forgetMark(0, mark.key)
  expect(await ledger.store(0, urls('b'), mark)).toMatchObject({ stored: 0, absorbed: 1 })
  expect(await raw.pttl(keys.mark('job:3:j1:0')), 'and then it is forgotten').toBeLessThanOrEqual(3_600_000)
})

test('an item with a mark of its own is stored once per mark, whatever became of its id', async () => {
  const { ledger, reserveOne, startPage, finish, outcomes } = await emptyLedger(redis)
  await ledger.store(0, [url('a', { mark: 'outbox:0:1-1' })])
  const lane = await reserveOne()
  await startPage(lane)
  await finish(lane)
  expect(await ledger.store(0, [url('a', { mark: 'outbox:0:1-1' })])).toMatchObject({ stored: 0, absorbed: 1 })
  const known = { outcome: outcomeOf('b', { kind: 'invalid', reason: 'bad-candidate' }), mark: 'outbox:0:1-2' }
  expect(await ledger.store(0, [known])).toMatchObject({ outcomes: 1 })
  expect(await ledger.store(0, [known])).toMatchObject({ outcomes: 0, absorbed: 1 })
  expect(await outcomes()).toHaveLength(2)
})

test('an outcome that is known at intake is written, unless the id is stored', async () => {
  const { ledger, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const invalid = (id: string) => ({ outcome: outcomeOf(id, { kind: 'invalid', reason: 'not-a-url' }) })
  expect(await ledger.store(0, [invalid('a'), invalid('b')])).toEqual({ stored: 0, absorbed: 1, outcomes: 1 })
  expect((await outcomes()).map(({ id, kind }) => [id, kind])).toEqual([['b', 'invalid']])
})

test('beyond the lane limit: what came first stays, each other URL gets refused: lane-full', async () => {
  const { ledger, outcomes, raw } = await emptyLedger(redis, { laneLimit: 3 })
  await ledger.store(0, urls('a', 'b'))
  const more = [url('c', { meta: { n: 1 } }), url('d', { meta: { n: 2 } }), url('e', { origin: 'http://other.test' })]
  expect(await ledger.store(0, more)).toEqual({ stored: 2, absorbed: 0, outcomes: 1 })
  expect(await outcomes()).toEqual([
    expect.objectContaining({
      id: 'd',
      kind: 'refused',
      reason: 'lane-full',
      url: `${ORIGIN}/d`,
      attempts: 0,
      meta: { n: 2 },
    }),
  ])
  expect(await laneUrls(raw, TAG, `bot ${ORIGIN}`)).toHaveLength(3)
})

test('a refused URL is not stored: its id is free at once', async () => {
  const { ledger, reserveOne, startPage, finish } = await emptyLedger(redis, { laneLimit: 1 })
  await ledger.store(0, urls('a', 'b'))
  const lane = await reserveOne()
  await startPage(lane)
  await finish(lane)
  expect(await ledger.store(0, urls('b'))).toMatchObject({ stored: 1 })
})

test('a full lane absorbs what it already holds instead of refusing it', async () => {
  const { ledger, outcomes } = await emptyLedger(redis, { laneLimit: 2 })
  await ledger.store(0, urls('a', 'b'))
  expect(await ledger.store(0, urls('a', 'b'))).toEqual({ stored: 0, absorbed: 2, outcomes: 0 })
  expect(await outcomes()).toEqual([])
})

test('a refused chunk spends its mark: delivered again it writes no second outcome', async () => {
  const { ledger, raw, outcomes } = await emptyLedger(redis, { laneLimit: 1 })
  const mark = await jobInHand(raw, 'j1')
  for (let i = 0; i < 2; i++) await ledger.store(0, urls('a', 'b'), mark)
  expect(await outcomes()).toHaveLength(1)
})

test('high waits behind the one in flight and before every normal one', async () => {
  const { ledger, clock, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('first', 'second'))
  const lane = await reserveOne()
  await startPage(lane)
  await ledger.store(0, [url('urgent', { priority: 'high' }), url('urgent too', { priority: 'high', path: '/u2' })])
  await finish(lane)
  const left: string[] = []
  for (let i = 0; i < 3; i++) {
    clock.pass(1_000)
    const next = await reserveOne()
    left.push(next.urls[0]!.id)
    expect(next.urls[0]!.priority).toBe(i < 2 ? 'high' : 'normal')
    await startPage(next)
    await finish(next)
  }
  expect(left).toEqual(['urgent', 'urgent too', 'second'])
})

test('a URL that is tried again stays before high ones that came later', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('first'))
  const lane = await reserveOne()
  await startPage(lane)
  await ledger.store(0, [url('urgent', { priority: 'high' })])
  await ledger.complete({ ...lane, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
  clock.pass(1)
  expect(await reserveOne()).toMatchObject({ tries: 1, urls: [{ id: 'first' }] })
})

test('adding a URL never lowers a due time; an emptied and refilled lane still owes its delay', async () => {
  const { ledger, clock, visit, reserve, dueOf } = await emptyLedger(redis)
  await visit('a', 10_000)
  const due = clock.now + 10_000
  expect(await dueOf()).toBe(due)
  clock.pass(5_000)
  await ledger.store(0, urls('b'))
  await ledger.store(0, [url('c', { priority: 'high' })])
  expect(await dueOf()).toBe(due)
  clock.pass(4_999)
  expect(await reserve()).toEqual([])
  clock.pass(1)
  expect(await reserve()).toHaveLength(1)
})

test('adding a URL to a lane in flight does not make it due', async () => {
  const { ledger, reserveOne, reserve, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await reserveOne()
  await ledger.store(0, [url('b'), url('c', { priority: 'high' })])
  expect(await dueOf()).toBeUndefined()
  expect(await reserve()).toEqual([])
})

test('paths, ids and meta of every shape come back as they went in', async () => {
  const { ledger, reserveOne } = await emptyLedger(redis)
  const odd = [
    { id: 'a b%20c\n\td', path: '/?q=%20|%7C&x={}' },
    { id: '\u2028\u00a0é😀|{decorum:0}', path: '/|/%00/%F0%9F%98%80' },
    { id: '%', path: '/%' },
    { id: '100%25 sure', path: '//double//slash' },
    { id: '9007199254740993', path: `/${'x'.repeat(2_000)}` },
    { id: 'x'.repeat(128), path: '/', meta: { 'k e y': ['\n', ' ', '"', '\\', '😀', null, 1.5, { deep: [] }] } },
    { id: '-', path: '/-', meta: {} },
    { id: 'shaped', path: '/s', request: { headers: { 'x-a': 'b c' }, accept: ['text/html'] } },
    { id: 'both', path: '/b', request: { method: 'HEAD' as const }, meta: { a: [1] } },
    { id: '"]\r\n*1', path: '/a;b,c', hops: 10, expiresAt: 1_900_000_001_000 },
  ]
  await ledger.store(
    0,
    odd.map(({ id, ...more }) => url(id, more)),
  )
  const lane = await reserveOne({ peek: odd.length })
  expect(lane.urls).toEqual(odd.map(({ id, ...more }) => url(id, more).pending))
})

test('an origin may hold brackets, ports and long names', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  const origins = ['http://[2001:db8::1]:8080', 'https://xn--bcher-kva.example', `http://${'a'.repeat(60)}.test:1`]
  await ledger.store(
    0,
    origins.map((origin, index) => url(`u${index}`, { origin })),
  )
  expect((await reserve()).map(({ origin }) => origin).sort()).toEqual([...origins].sort())
})

test('two agents have two lanes at one origin', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  await ledger.store(0, [url('a'), url('b', { agent: 'other-bot' })])
  expect((await reserve()).map(({ agent }) => agent).sort()).toEqual(['bot', 'other-bot'])
})

test('200 items in one call are all stored and all counted', async () => {
  const { ledger } = await emptyLedger(redis)
  const many = Array.from({ length: 200 }, (_, i) => url(`u${i}`, { origin: `http://s${i % 7}.test` }))
  expect(await ledger.store(0, many)).toEqual({ stored: 200, absorbed: 0, outcomes: 0 })
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ parked: 200 })
})

test('storing goes on while grants are held', async () => {
  const { ledger } = await emptyLedger(redis, { hold: true })
  expect(await ledger.store(0, urls('a'))).toMatchObject({ stored: 1 })
})
