/** The stream of outcomes, read in groups and trimmed behind the slowest; and the outbox of redirects. */

import { connectLink, linkTo, makeGroup, openLedger } from '@decorum/ledger'
import { repartition } from '@decorum/ledger/move'
import { keysOf } from '@decorum/ledger/testing'
import { partitionTags, systemClock } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, outcomeOf, PATIENT, TAG } from './ledger-for-test.ts'

const redis = await redisForTest()
const STREAM = keys.outcomes
type Bench = Awaited<ReturnType<typeof emptyLedger>>

async function write({ ledger }: Bench, count: number): Promise<void> {
  for (let from = 0; from < count; from += 200) {
    const some = Array.from({ length: Math.min(200, count - from) }, (_, i) => ({ outcome: outcomeOf(`u${from + i}`) }))
    await ledger.store(0, some)
  }
}

/** Reads for a group and returns the entries' ids. */
async function read({ raw }: Bench, group: string, count: number): Promise<string[]> {
  const rows = await raw.xreadgroup('GROUP', group, 'me', 'COUNT', count, 'STREAMS', STREAM, '>')
  return (rows?.[0]?.[1] ?? []).map(([id]) => id)
}
const left = async ({ raw }: Bench): Promise<number> => raw.xlen(STREAM)

test('a group reads from the beginning of what is stored; making it again changes nothing', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, 3)
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  expect(await read(bench, 'g', 2)).toHaveLength(2)
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  expect(await read(bench, 'g', 9)).toHaveLength(1)
})

test('a group can be made before the first outcome', async () => {
  const bench = await emptyLedger(redis)
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  await write(bench, 1)
  expect(await read(bench, 'g', 9)).toHaveLength(1)
})

test('from now: what is stored is passed over, but not where the group has started at another partition', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, 3)
  await makeGroup(bench.raw, [STREAM], 'new', 'now')
  expect(await read(bench, 'new', 9)).toEqual([])
  await makeGroup(bench.raw, ['other:outcomes'], 'old', 'start')
  await makeGroup(bench.raw, ['other:outcomes', STREAM], 'old', 'now')
  expect(await read(bench, 'old', 9)).toHaveLength(3)
})

/** Where each group stands in the stream of a partition. */
async function standing({ raw }: Bench, tag: string): Promise<Record<string, string>> {
  const rows = (await raw.xinfo('GROUPS', keysOf(tag).outcomes).catch(() => [])) as (string | number)[][]
  return Object.fromEntries(rows.map((row) => [row[1], String(row[row.indexOf('last-delivered-id') + 1])]))
}

test('partitions that come later have the groups there are, from the start: a reader that is away misses nothing', async () => {
  const bench = await emptyLedger(redis)
  await bench.raw.flushall()
  await makeGroup(bench.raw, [STREAM], 'before-the-fleet', 'now')
  const times = { leaseMs: 200, quarantineMs: 100 }
  await (await openLedger({ redis: redis.url, partitions: 2, ...times, ...PATIENT })).close()
  const [, second] = partitionTags(2)
  expect(await standing(bench, second ?? '')).toEqual({ 'before-the-fleet': '0-0' })
  await makeGroup(bench.raw, [`${second}:outcomes`], 'of-one', 'now')
  const link = linkTo(redis.url, { away: 'fail', lazyConnect: true })
  onTestFinished(() => link.disconnect())
  await connectLink(link, { clock: systemClock, ms: 1_000 })
  await repartition({ redis: link, to: 3, ...times })
  for (const tag of partitionTags(3, partitionTags(2)).filter((one) => one !== TAG && one !== second))
    expect(await standing(bench, tag), tag).toEqual({ 'before-the-fleet': '0-0', 'of-one': '0-0' })
})

test('without a group, and without a stream, nothing is trimmed', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.trimOutcomes(0)
  await write(bench, 300)
  await bench.ledger.trimOutcomes(0)
  expect(await left(bench)).toBe(300)
})

test('what every group has acknowledged goes, to the last entry', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, 7)
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  await bench.raw.xack(STREAM, 'g', ...(await read(bench, 'g', 9)))
  await bench.ledger.trimOutcomes(0)
  expect(await left(bench)).toBe(0)
})

test('the slowest group decides: what one has not read, or not acknowledged, stays', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, 10)
  for (const group of ['fast', 'slow', 'late']) await makeGroup(bench.raw, [STREAM], group, 'start')
  await bench.raw.xack(STREAM, 'fast', ...(await read(bench, 'fast', 99)))
  const slow = await read(bench, 'slow', 99)
  await bench.raw.xack(STREAM, 'slow', ...slow.filter((_, i) => i !== 4))
  await bench.ledger.trimOutcomes(0)
  expect(await left(bench), 'late has read nothing').toBe(10)
  await bench.raw.xack(STREAM, 'late', ...(await read(bench, 'late', 2)))
  await bench.ledger.trimOutcomes(0)
  expect(await left(bench)).toBe(8)
  await bench.raw.xack(STREAM, 'late', ...(await read(bench, 'late', 99)))
  await bench.ledger.trimOutcomes(0)
  const [oldest] = await bench.raw.xrange(STREAM, '-', '+')
  expect(oldest?.[0], 'slow has not acknowledged its fifth').toBe(slow[4])
  expect(await left(bench)).toBe(6)
  await bench.raw.xack(STREAM, 'slow', slow[4]!)
  await bench.ledger.trimOutcomes(0)
  expect(await left(bench)).toBe(0)
})

test('a long backlog is trimmed whole', async () => {
  const bench = await emptyLedger(redis)
  await write(bench, 2_500)
  await makeGroup(bench.raw, [STREAM], 'g', 'start')
  for (let ids = await read(bench, 'g', 1_000); ids.length > 0; ids = await read(bench, 'g', 1_000))
    await bench.raw.xack(STREAM, 'g', ...ids)
  await bench.ledger.trimOutcomes(0)
  expect(await left(bench)).toBe(0)
})

test('the outbox hands out the oldest first and deletes what is cleared', async () => {
  const bench = await emptyLedger(redis)
  for (const id of ['a', 'b', 'c']) {
    await bench.raw.xadd(keys.outbox, '*', 'c', JSON.stringify({ id, url: 'http://x.test/' }))
  }
  const two = await bench.ledger.outbox(0, 2)
  expect(two.map(({ candidate }) => candidate.id)).toEqual(['a', 'b'])
  await bench.ledger.clearOutbox(0, [])
  await bench.ledger.clearOutbox(0, [two[0]!.id])
  expect((await bench.ledger.outbox(0, 9)).map(({ candidate }) => candidate.id)).toEqual(['b', 'c'])
})
