/** A frontier and the number of partitions: nothing is registered yet, or another number than before is. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Delivery, type Frontier, openFrontier } from '@decorum/client'
import { openLedger } from '@decorum/ledger'
import { CANDIDATES, type Candidate, hostOf, partitionOf, partitionTags, readUrl } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { PATIENT } from '../support/patient.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const client = new Redis(redis.url)
afterAll(() => client.disconnect())
const FIRST = '{decorum:0}'
const streamOf = (tag: string): string => `${tag}:outcomes`

beforeEach(() => client.flushall())

async function frontier(partitions?: number): Promise<Frontier> {
  const opened = await openFrontier({ redis: redis.url, ...(partitions === undefined ? {} : { partitions }) })
  onTestFinished(() => opened.close())
  return opened
}

/** What the first process of a fleet does. */
const register = async (partitions: number): Promise<void> =>
  (await openLedger({ redis: redis.url, partitions, ...PATIENT })).close()
/** What `decorum ledger partitions` does at its end. */
const registerAnother = (partitions: number): Promise<unknown> =>
  client
    .multi()
    .del('decorum:partitions')
    .rpush('decorum:partitions', ...partitionTags(partitions))
    .exec()

const write = (id: string, stream: string): Promise<unknown> =>
  client.xadd(stream, '*', 'o', JSON.stringify({ id, kind: 'fetched' }))

async function reserve(from: AsyncGenerator<Delivery>, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) {
    const next = await from.next()
    if (next.done) break
    ids.push(next.value.outcome.id)
    await next.value.ack()
  }
  return ids
}

const urls = (name: string, count: number): Candidate[] =>
  Array.from({ length: count }, (_, n) => ({ url: `http://h${n}.example/`, id: `${name}${n}` }))

/** Tag of the queue → its candidates. */
async function stored(): Promise<Map<string, Candidate[]>> {
  const found = new Map<string, Candidate[]>()
  for (const key of await client.keys(`*:${CANDIDATES}:f*`)) {
    const { candidates } = JSON.parse((await client.hget(key, 'data')) ?? '') as { candidates: Candidate[] }
    const tag = key.slice(0, key.indexOf('}') + 1)
    found.set(tag, [...(found.get(tag) ?? []), ...candidates])
  }
  return found
}
const homeOf = ({ url }: Candidate, count: number): string | undefined => {
  const at = readUrl(url)
  return 'refused' in at ? undefined : partitionTags(count)[partitionOf(hostOf(at.origin), count)]
}

test('before a fleet has registered a number there is one partition, whatever number the frontier names', async () => {
  const f = await frontier(3)
  expect(f.tags).toEqual([FIRST])
  await f.enqueue(urls('a', 24))
  expect([...(await stored()).keys()]).toEqual([FIRST])
})

test('a frontier that was there before the fleet finds its partitions, and stores nothing elsewhere', async () => {
  const f = await frontier(3)
  await f.enqueue(urls('a', 24))
  await register(4)
  await expect
    .poll(
      async () => {
        await f.enqueue(urls('b', 24))
        return f.tags
      },
      { interval: 300 },
    )
    .toEqual(partitionTags(4))
  await client.del(...(await client.keys(`*:${CANDIDATES}:f*`)))
  await f.enqueue(urls('c', 24))
  const found = await stored()
  expect([...found.values()].flat()).toHaveLength(24)
  for (const [tag, list] of found) for (const one of list) expect(homeOf(one, 4), one.url).toBe(tag)
})

test('an enqueue that goes on for long uses a number that is registered meanwhile', async () => {
  const f = await frontier()
  let last: string | undefined
  async function* endless(): AsyncGenerator<Candidate> {
    for (let n = 0; f.tags.length === 1; n++) {
      if (n === 300) await register(2)
      if (n % 100 === 0) await sleep(20)
      yield { url: `http://h${n % 50}.example/${n}` }
    }
    for (const one of urls('last', 40)) {
      last = homeOf(one, 2)
      yield one
    }
  }
  await f.enqueue(endless())
  expect(last).toBeDefined()
  const found = await stored()
  for (const [tag, list] of found)
    for (const one of list.filter(({ id }) => id?.startsWith('last'))) expect(homeOf(one, 2)).toBe(tag)
})

test('a group of `from: now` misses nothing of partitions that come later', async () => {
  await write('past', streamOf(FIRST))
  await register(1)
  const f = await frontier()
  const reading = f.outcomes({ group: 'g', from: 'now' })
  const first = reserve(reading, 1)
  await expect.poll(() => client.xinfo('GROUPS', streamOf(FIRST))).toHaveLength(1)
  await write('a', streamOf(FIRST))
  expect(await first).toEqual(['a'])
  const others = partitionTags(3).slice(1)
  for (const tag of others) await write(`of ${tag}`, streamOf(tag))
  await registerAnother(3)
  expect((await reserve(reading, 2)).sort()).toEqual(others.map((tag) => `of ${tag}`).sort())
})

test('neither does one whose reader was away when they came', async () => {
  await write('past', streamOf(FIRST))
  await register(1)
  const before = await frontier()
  expect(await reserve(before.outcomes({ group: 'g', from: 'now', wait: false }), 1)).toEqual([])
  await before.close()
  const others = partitionTags(3).slice(1)
  for (const tag of others) await write(`of ${tag}`, streamOf(tag))
  await registerAnother(3)
  const f = await frontier()
  const seen = await reserve(f.outcomes({ group: 'g', from: 'now', wait: false }), 9)
  expect(seen.sort()).toEqual(others.map((tag) => `of ${tag}`).sort())
})

test('a group that Redis has forgotten under its reader begins again at the start: nothing written meanwhile is missed', async () => {
  await register(1)
  const f = await frontier()
  const reading = f.outcomes({ group: 'g', from: 'now' })
  const next = reserve(reading, 2)
  await expect.poll(() => client.exists(streamOf(FIRST))).toBe(1)
  await client.multi().del(streamOf(FIRST)).xadd(streamOf(FIRST), '*', 'o', '{"id":"a"}').exec()
  await write('b', streamOf(FIRST))
  expect(await next).toEqual(['a', 'b'])
})

test('a group that one stream would not give up is said to be there still, whatever the others answer', async () => {
  await register(3)
  const f = await frontier()
  await reserve(f.outcomes({ group: 'g', wait: false }), 1)
  await client.del(streamOf(FIRST))
  const may = (...keys: string[]) => client.call('ACL', 'SETUSER', 'default', 'resetkeys', ...keys)
  await may('~{decorum:0}*', '~*decorum:partitions*')
  onTestFinished(async () => void (await may('~*')))
  await expect(f.removeGroup('g')).rejects.toThrow("the group 'g' could not be removed")
})
