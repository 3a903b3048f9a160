/** Who reads a crawl's outcomes: what each group has not acknowledged, since when, by whom; and how one is forgotten. */
import { isRead, makeGroup, readerInTheWay } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, outcomesKey, partitionTags } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, outcomeOf, PATIENT } from './ledger-for-test.ts'

const redis = await redisForTest()
const STREAM = keys.outcomes
type Bench = Awaited<ReturnType<typeof emptyLedger>>

const write = ({ ledger }: Bench, ...ids: string[]) =>
  ledger.store(
    0,
    ids.map((id) => ({ outcome: outcomeOf(id) })),
  )
async function read(raw: Redis, group: string, consumer: string, count: number, stream = STREAM): Promise<string[]> {
  const rows = await raw.xreadgroup('GROUP', group, consumer, 'COUNT', count, 'STREAMS', stream, '>')
  return (rows?.[0]?.[1] ?? []).map(([id]) => id)
}
const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `o${n}`)
const ANYHOW = { crawl: DEFAULT_CRAWL, by: 'ann', reason: 'its frontier is gone', silentForMs: 0 }

test('of a group is known what it was not handed, what it has not acknowledged, and the oldest of these with its age', async () => {
  const bench = await emptyLedger(redis)
  expect(await bench.ledger.readers(DEFAULT_CRAWL)).toEqual([])
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  expect(await bench.ledger.readers(DEFAULT_CRAWL)).toEqual([
    { crawl: 'default', group: 'g', lag: 0, lagIsLeast: false, pending: 0, consumers: [], consumerCount: 0 },
  ])
  await write(bench, ...names(5))
  const [first] = await bench.ledger.readers(DEFAULT_CRAWL)
  expect(first).toMatchObject({ lag: 5, pending: 0, oldest: { id: 'o0' } })
  const [a, b] = await read(bench.raw, 'g', 'me', 3)
  await bench.raw.xack(STREAM, 'g', a ?? '')
  await read(bench.raw, 'g', 'other', 1)
  const [seen] = await bench.ledger.readers(DEFAULT_CRAWL)
  expect(seen).toMatchObject({ lag: 1, pending: 3, oldest: { entry: b, id: 'o1' }, consumerCount: 2 })
  expect(seen?.consumers.map(({ name, pending }) => [name, pending])).toEqual([
    ['me', 2],
    ['other', 1],
  ])
  const ageOf = async () => (await bench.ledger.readers(DEFAULT_CRAWL))[0]?.oldest?.ageMs ?? 0
  await expect.poll(ageOf).toBeGreaterThan(50)
  expect(seen !== undefined && isRead(seen)).toBe(true)
})

test('where Redis does not know how many were not handed out, they are counted as far as 200', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, ...names(100))
  const [, , third] = (await bench.raw.xrange(STREAM, '-', '+', 'COUNT', 3)).map(([id]) => id)
  await bench.raw.xgroup('CREATE', STREAM, 'g', third ?? '')
  expect((await bench.ledger.readers(DEFAULT_CRAWL))[0]).toMatchObject({ lag: 97, lagIsLeast: false })
  for (let from = 0; from < 400; from += 200) await write(bench, ...names(200))
  expect((await bench.ledger.readers(DEFAULT_CRAWL))[0]).toMatchObject({ lag: 200, lagIsLeast: true })
})

test('an entry that is no outcome, and a group with any name, are shown like others', async () => {
  const bench = await emptyLedger(redis)
  const group = '{"a": \n\u202e'
  await bench.raw.xadd(STREAM, '*', 'o', '{broken')
  await makeGroup(bench.raw, [STREAM], group, 'start')
  const [reader] = await bench.ledger.readers(DEFAULT_CRAWL)
  expect(reader).toMatchObject({ group, lag: 1 })
  expect(reader?.oldest).not.toHaveProperty('id')
})

test('several partitions are one reader; each crawl has its own', async () => {
  const raw = new Redis(redis.url)
  await raw.flushall()
  onTestFinished(() => raw.disconnect())
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 2, ...PATIENT })
  onTestFinished(() => ledger.close())
  const [one = '', two = ''] = partitionTags(2).map((tag) => outcomesKey(tag, 'news'))
  await makeGroup(raw, [one, two], 'g', 'start')
  for (const [stream, id] of [
    [one, 'older'],
    [two, 'a'],
    [two, 'b'],
  ] as const)
    await raw.xadd(stream, id === 'older' ? '1000-0' : '*', 'o', JSON.stringify({ id }))
  await read(raw, 'g', 'me', 1, one)
  await read(raw, 'g', 'me', 1, two)
  expect(await ledger.readers('news')).toMatchObject([
    {
      crawl: 'news',
      lag: 1,
      pending: 2,
      oldest: { id: 'older' },
      consumers: [{ name: 'me', pending: 2 }],
      consumerCount: 1,
    },
  ])
  expect(await ledger.readers(DEFAULT_CRAWL)).toEqual([])
  expect(await ledger.unread('news')).toEqual([1, 2])
  expect(await ledger.forgetReader({ ...ANYHOW, crawl: 'news', group: 'g' })).toEqual({ kind: 'forgotten', unread: 3 })
  expect(await ledger.readers('news')).toEqual([])
  const written = (await Promise.all([ledger.operations(0, 9), ledger.operations(1, 9)])).flat()
  expect(written).toMatchObject([
    { action: 'forget-reader', crawl: 'news', group: 'g', by: 'ann', reason: 'its frontier is gone', value: '1' },
    { action: 'forget-reader', crawl: 'news', group: 'g', value: '2' },
  ])
})

test('a forgotten group is written down with who and why, and its outcomes are no longer kept', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, ...names(3))
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  await makeGroup(bench.raw, [STREAM], 'gone', 'start')
  await bench.raw.xack(STREAM, 'g', ...(await read(bench.raw, 'g', 'me', 9)))
  await bench.ledger.trimOutcomes(0)
  expect(await bench.raw.xlen(STREAM)).toBe(3)
  expect(await bench.ledger.forgetReader({ ...ANYHOW, group: 'gone', silentForMs: 60_000 })).toEqual({
    kind: 'forgotten',
    unread: 3,
  })
  await bench.ledger.trimOutcomes(0)
  expect(await bench.raw.xlen(STREAM)).toBe(0)
  expect((await bench.ledger.operations(0, 9))[0]).toMatchObject({ action: 'forget-reader', group: 'gone', value: '3' })
  expect(await bench.ledger.forgetReader({ ...ANYHOW, group: 'gone' })).toEqual({ kind: 'absent' })
  expect(await bench.ledger.operations(0, 9)).toHaveLength(1)
})

test('a group that is read stays', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, 'a')
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  await read(bench.raw, 'g', 'me', 1)
  const forget = (silentForMs: number) => bench.ledger.forgetReader({ ...ANYHOW, group: 'g', silentForMs })
  expect(await forget(60_000)).toEqual({ kind: 'still-read' })
  const idle = async () => Math.min((await bench.ledger.readers(DEFAULT_CRAWL))[0]?.idleMs ?? 0)
  await expect.poll(idle).toBeGreaterThan(100)
  expect(await bench.ledger.operations(0, 9)).toEqual([])
  expect(await forget(100)).toEqual({ kind: 'forgotten', unread: 1 })
})

test('the reader in the way is the one with most to read, once a partition holds as many outcomes as may be', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, ...names(4))
  await makeGroup(bench.raw, [STREAM], 'behind', 'start')
  await makeGroup(bench.raw, [STREAM], 'quick', 'start')
  await read(bench.raw, 'quick', 'me', 2)
  const readers = await bench.ledger.readers(DEFAULT_CRAWL)
  expect(readerInTheWay(readers, [4, 0], 5)).toBeUndefined()
  await bench.raw.xack(STREAM, 'quick', ...(await read(bench.raw, 'quick', 'me', 2)))
  expect(readerInTheWay(await bench.ledger.readers(DEFAULT_CRAWL), [0, 4], 4)?.group).toBe('behind')
  expect(readerInTheWay([], [4], 4)).toBeUndefined()
})
