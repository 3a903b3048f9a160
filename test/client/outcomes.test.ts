/** Outcomes through consumer groups: each group all of them, each outcome again until it is acknowledged. */
import { type Delivery, type Frontier, FrontierUnavailableError, openFrontier } from '@decorum/client'
import { partitionTags } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'
import { readerOn, STREAM } from './support.ts'

const redis = await redisForTest()
const client = new Redis(redis.url)
afterAll(() => client.disconnect())
const open: Frontier[] = []

beforeEach(() => client.flushall())
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

/** @param partitions  registered, as the first process of a fleet does it */
const frontier = async (partitions = 1, url = redis.url): Promise<Frontier> => {
  if (url === redis.url) await register(partitions)
  const opened = await openFrontier({ redis: url, partitions })
  open.push(opened)
  return opened
}

async function register(partitions: number): Promise<void> {
  await client
    .multi()
    .del('decorum:partitions')
    .rpush('decorum:partitions', ...partitionTags(partitions))
    .exec()
}

const write = (id: string, stream = STREAM): Promise<unknown> =>
  client.xadd(
    stream,
    '*',
    'o',
    JSON.stringify({ id, url: `http://a.example/${id}`, kind: 'refused', reason: 'lane-full' }),
  )

/** Reads `count` deliveries and leaves the loop. */
async function reserve(from: AsyncGenerator<Delivery>, count: number): Promise<Delivery[]> {
  const taken: Delivery[] = []
  while (taken.length < count) {
    const next = await from.next()
    if (next.done) break
    taken.push(next.value)
  }
  return taken
}
const ids = (deliveries: Delivery[]): string[] => deliveries.map(({ outcome }) => outcome.id)

test('a new group begins with everything still stored and waits for more', async () => {
  await write('a')
  const f = await frontier()
  const reading = f.outcomes({ group: 'g' })
  expect(ids(await reserve(reading, 1))).toEqual(['a'])
  const next = reserve(reading, 1)
  await write('b')
  expect(ids(await next)).toEqual(['b'])
})

test('a group of `from: now` sees nothing of the past', async () => {
  await write('a')
  const f = await frontier()
  const reading = f.outcomes({ group: 'g', from: 'now' })
  const next = reserve(reading, 1)
  await expect.poll(() => client.xinfo('GROUPS', STREAM)).toHaveLength(1)
  await write('b')
  expect(ids(await next)).toEqual(['b'])
})

test('all partitions are read', async () => {
  const tags = partitionTags(3)
  for (const tag of tags) await write(`of ${tag}`, `${tag}:outcomes`)
  const f = await frontier(3)
  expect(ids(await reserve(f.outcomes({ group: 'g' }), 3)).sort()).toEqual(tags.map((tag) => `of ${tag}`).sort())
})

test('with `wait: false` the loop ends when nothing is left', async () => {
  for (let n = 0; n < 450; n++) await write(`o${n}`)
  const f = await frontier()
  const seen: string[] = []
  for await (const { outcome, ack } of f.outcomes({ group: 'g', wait: false })) {
    seen.push(outcome.id)
    await ack()
  }
  expect(seen).toHaveLength(450)
  expect(await client.xpending(STREAM, 'g')).toEqual([0, null, null, null])
})

test('the same consumer gets first what it had not acknowledged, and that only', async () => {
  for (const id of ['a', 'b', 'c']) await write(id)
  const before = await frontier()
  const [, second] = await reserve(before.outcomes({ group: 'g', consumer: 'me' }), 3)
  await second?.ack()
  await before.close()
  const f = await frontier()
  await write('d')
  expect(ids(await reserve(f.outcomes({ group: 'g', consumer: 'me' }), 3))).toEqual(['a', 'c', 'd'])
})

test('two consumers of a group share the outcomes; two groups each get all', async () => {
  for (let n = 0; n < 10; n++) await write(`o${n}`)
  const f = await frontier()
  const mine = await reserve(f.outcomes({ group: 'g', wait: false }), 99)
  const others = await reserve(f.outcomes({ group: 'g', wait: false }), 99)
  expect(ids([...mine, ...others])).toHaveLength(10)
  expect(ids(await reserve(f.outcomes({ group: 'h', wait: false }), 99))).toHaveLength(10)
})

test('what a dead consumer held goes to a living one; what a slow one holds stays', async () => {
  for (const id of ['a', 'b']) await write(id)
  await client.xgroup('CREATE', STREAM, 'g', '0')
  await client.xreadgroup('GROUP', 'g', 'dead', 'COUNT', 1, 'STREAMS', STREAM, '>')
  await client.xreadgroup('GROUP', 'g', 'slow', 'COUNT', 1, 'STREAMS', STREAM, '>')
  const { claimFromDead } = await import('@decorum/client/inside')
  // `dead` is silent until the threshold is passed; `slow` asks again (its own history counts) in the meantime
  const silentMs = 200
  await expect
    .poll(async () => {
      const [, taken] = await Promise.all([
        client.xreadgroup('GROUP', 'g', 'slow', 'STREAMS', STREAM, '0'),
        claimFromDead(client, STREAM, 'g', 'living', silentMs), // sent in the same tick, behind it
      ])
      return taken.map(({ outcome }) => outcome?.id)
    })
    .toEqual(['a'])
  expect(await client.xpending(STREAM, 'g', '-', '+', 10)).toMatchObject([
    [expect.anything(), 'living', expect.anything(), 2],
    [expect.anything(), 'slow', expect.anything(), expect.anything()],
  ])
})

test('an entry that holds no outcome is passed over, once and for all', async () => {
  await client.xadd(STREAM, '*', 'o', '{broken')
  await client.xadd(STREAM, '*', 'x', 'y')
  await write('a')
  const f = await frontier()
  expect(ids(await reserve(f.outcomes({ group: 'g' }), 1))).toEqual(['a'])
  await expect.poll(() => client.xpending(STREAM, 'g', '-', '+', 10)).toHaveLength(1)
})

test('close() ends a loop that waits', async () => {
  const f = await frontier()
  const reading = f.outcomes({ group: 'g' })
  const next = reading.next()
  await expect.poll(() => client.exists(STREAM)).toBe(1)
  await f.close()
  expect(await next).toEqual({ done: true, value: undefined })
})

test('Redis restarted under a waiting loop: it goes on, and nothing comes twice in one loop', async () => {
  const other = await startRedis({ appendonly: true })
  const f = await frontier(1, other.url)
  const writer = new Redis(other.url)
  const put = (id: string): Promise<unknown> => writer.xadd(STREAM, '*', 'o', JSON.stringify({ id }))
  await put('a')
  const reading = f.outcomes({ group: 'g', consumer: 'me' })
  const [first] = await reserve(reading, 1)
  const next = reserve(reading, 1)
  await other.restart()
  await put('b')
  expect(ids(await next)).toEqual(['b'])
  await first?.ack()
  expect(await writer.xpending(STREAM, 'g', '-', '+', 10)).toHaveLength(1)
  writer.disconnect()
  await other.stop()
})

test('a loop started while Redis is away gets its outcomes when it is back', async () => {
  const other = await startRedis({ appendonly: true })
  const writer = new Redis(other.url)
  await writer.xadd(STREAM, '*', 'o', JSON.stringify({ id: 'a' }))
  const f = await frontier(1, other.url)
  writer.disconnect()
  await other.stop()
  await expect(f.outcomes({ group: 'g', wait: false }).next()).rejects.toThrow(FrontierUnavailableError)
  const next = reserve(f.outcomes({ group: 'g' }), 1)
  const ended = f.outcomes({ group: 'h' })
  const nothing = ended.next()
  await other.restart()
  expect(ids(await next)).toEqual(['a'])
  await other.stop()
  await f.close()
  await ended.return()
  await nothing
})

test('an acknowledgement that failed and was told later: nothing more is remembered of it', async () => {
  await write('a')
  const held = new Set<string>()
  const { deliveries } = await readerOn(redis.url, 'me', { held })
  const [first] = await reserve(deliveries, 1)
  await client.call('ACL', 'SETUSER', 'default', '-xack')
  await expect(first?.ack()).rejects.toThrow('could not be acknowledged')
  expect(held.size).toBe(1)
  await client.call('ACL', 'SETUSER', 'default', '+xack')
  await expect.poll(() => held.size).toBe(0)
  expect(await client.xpending(STREAM, 'g')).toEqual([0, null, null, null])
})

test('a group that was made now reads what is stored from then on, and making it again leaves it as it is', async () => {
  await write('before')
  const f = await frontier()
  await f.createGroup({ group: 'g', from: 'now' })
  await write('after')
  await f.createGroup({ group: 'g', from: 'now' })
  await f.createGroup({ group: 'g' })
  const [first] = await reserve(f.outcomes({ group: 'g', wait: false }), 1)
  expect(first?.outcome.id).toBe('after')
})

test('a removed group is gone, and removing it again is no error', async () => {
  const f = await frontier()
  await reserve(f.outcomes({ group: 'g', wait: false }), 1)
  await f.removeGroup('g')
  await f.removeGroup('g')
  expect(await client.xinfo('GROUPS', STREAM)).toEqual([])
})
