/** Candidates that came as a job are stored or have their outcome, whatever becomes of the gateway and of the job's name. */
import { main } from '@decorum/gateway'
import { gatewayMetrics, startIntake, sweepUndecodable } from '@decorum/gateway/testing'
import { openLedger } from '@decorum/ledger'
import { CANDIDATES, type Candidate, frontierJob, partitionTags, queueOptions } from '@decorum/protocol'
import { logOutages, type RunningService } from '@decorum/runtime'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { laneUrls } from '../support/lane-urls.ts'
import { PATIENT } from '../support/patient.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url, { maxRetriesPerRequest: null })
const TAGS = partitionTags(2)
const queue = new Queue(CANDIDATES, { connection: raw, ...queueOptions(TAGS[0] as string) })

beforeEach(() => raw.flushall())
afterAll(async () => {
  await queue.close()
  raw.disconnect()
})

/** Hosts of partition 0 and of partition 1. */
const ledger = await openLedger({ redis: redis.url, partitions: 2, ...PATIENT })
afterAll(() => ledger.close())
const originIn = (partition: number): string => {
  for (let n = 0; ; n++) if (ledger.partitionOf(`http://h${n}.example`) === partition) return `http://h${n}.example`
}
const [HERE, THERE] = [originIn(0), originIn(1)]
const waiting = async (partition: number, origin: string): Promise<number> =>
  (await laneUrls(raw, TAGS[partition] ?? '', `decorum ${origin}`)).length

async function gateway(more: Record<string, string> = {}): Promise<RunningService> {
  const started = await main({
    REDIS_URL: redis.url,
    DECORUM_PARTITIONS: '2',
    LOG_LEVEL: 'silent',
    DECORUM_CONTACT: 'https://bot.example/',
    ...more,
  })
  onTestFinished(() => started.stop())
  return started
}

/** Resolves when the job is done and gone. */
async function carryOut(jobId: string, candidates: Candidate[]): Promise<void> {
  await queue.add('candidates', { candidates }, { jobId })
  await expect.poll(() => queue.getJob(jobId), { interval: 20 }).toBeUndefined()
}

test('a gateway that stops while its ledger refuses to store gives the job to the next one', async () => {
  await raw.set(`${TAGS[0]}:lanes`, 'no hash: whoever wants to store here fails')
  const first = await gateway()
  const job = await queue.add('candidates', { candidates: [{ url: `${HERE}/a` }] })
  await expect.poll(() => job.getState(), { interval: 20 }).toBe('active')
  await first.stop()
  expect(await job.getState()).toBe('delayed')

  await raw.del(`${TAGS[0]}:lanes`)
  await job.promote() // while no gateway takes it by itself
  await gateway()
  await expect.poll(() => waiting(0, HERE), { interval: 20 }).toBe(1)
})

test('a fault of ours fails no job: it is logged, and the job comes again later', async () => {
  const connection = logOutages(new Redis(redis.url, { maxRetriesPerRequest: null }), pino({ level: 'silent' }))
  const said: string[] = []
  const worker = startIntake({
    ledger,
    partition: 0,
    tag: TAGS[0] as string,
    connection,
    admit: () => {
      throw new Error('admit has a fault')
    },
    metrics: gatewayMetrics(),
    log: pino({ level: 'error' }, { write: (line: string) => void said.push(line) }),
    concurrency: 1,
    lockMs: 30_000,
  })
  onTestFinished(async () => {
    await worker.close()
    connection.disconnect()
  })
  const job = await queue.add('candidates', { candidates: [{ url: `${HERE}/a` }] })
  await expect.poll(() => job.getState(), { interval: 20 }).toBe('delayed')
  expect((await queue.getJob(job.id as string))?.delay).toBeGreaterThan(1_000)
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('admit has a fault')
})

test('outcomes that intake gives count to OUTCOMES_LIMIT: what would pass it waits, and is lost never', async () => {
  const read = async (): Promise<string[]> =>
    (await raw.xrange(`${TAGS[0]}:outcomes`, '-', '+')).map(([, [, text]]) => JSON.parse(text as string).id as string)
  await gateway({ OUTCOMES_LIMIT: '2', DECORUM_PARTITIONS: '2' })
  const bad = (...ids: string[]): Candidate[] => ids.map((id) => ({ id, url: 'http://' }))
  await carryOut('first', bad('a', 'b'))
  const held = await queue.add('candidates', { candidates: bad('c') })
  const other = await queue.add('candidates', { candidates: [{ id: 'd', url: `${HERE}/d` }] }, { jobId: 'other' })
  await expect.poll(() => held.getState(), { interval: 20 }).toBe('delayed')
  await expect.poll(() => queue.getJob(other.id as string), { interval: 20 }).toBeUndefined()
  expect([await read(), await waiting(0, HERE)]).toEqual([['a', 'b'], 1])
  await raw.xtrim(`${TAGS[0]}:outcomes`, 'MAXLEN', 0)
  await expect.poll(read, { interval: 20, timeout: 20_000 }).toEqual(['c'])
})

test('a fault of ours in storing is logged once, and storing is tried until it succeeds', async () => {
  const connection = logOutages(new Redis(redis.url, { maxRetriesPerRequest: null }), pino({ level: 'silent' }))
  const said: string[] = []
  let tries = 0
  const worker = startIntake({
    ledger: {
      ...ledger,
      store: (...args) => {
        if (++tries <= 3) throw new TypeError('store has a fault')
        return ledger.store(...args)
      },
    },
    partition: 0,
    tag: TAGS[0] as string,
    connection,
    admit: () => ({
      origin: HERE,
      item: {
        lane: { agent: 'decorum', origin: HERE },
        pending: { id: 'a', path: '/a', expiresAt: Date.now() + 60_000, hops: 0, priority: 'normal' },
      },
    }),
    metrics: gatewayMetrics(),
    log: pino({ level: 'error' }, { write: (line: string) => void said.push(line) }),
    concurrency: 1,
    lockMs: 30_000,
  })
  onTestFinished(async () => {
    await worker.close()
    connection.disconnect()
  })
  await queue.add('candidates', { candidates: [{ url: `${HERE}/a` }] })
  await expect.poll(() => waiting(0, HERE), { interval: 20 }).toBe(1)
  expect(tries).toBe(4)
  expect(said).toHaveLength(1)
  expect(said[0]).toContain('store has a fault')
})

test('a job under a name used before brings its own URLs, those for other partitions too', async () => {
  await gateway()
  for (const night of [1, 2]) {
    const urls = [`${HERE}/${night}`, `${THERE}/${night}`]
    const candidates = urls.map((url) => ({ url, id: url }))
    await carryOut('nightly', candidates)
  }
  expect(await waiting(0, HERE)).toBe(2)
  expect(await waiting(1, THERE)).toBe(2)
})

test('a job of a frontier that had no answer, added again: nothing twice, in no partition', async () => {
  await gateway()
  const name = frontierJob('0123456789abcdef', 1)
  for (const _ of ['first', 'again']) await carryOut(name, [{ url: `${HERE}/1` }, { url: `${THERE}/1` }])
  expect(await waiting(0, HERE)).toBe(1)
  expect(await waiting(1, THERE)).toBe(1)
})

test('ids that differ in half of a surrogate pair are refused, each with an outcome; no id is taken for another', async () => {
  await gateway()
  const ids = ['x\ud800', 'x\ud801', 'x\udfff', 'plain']
  await carryOut(
    'odd',
    ids.map((id, n) => ({ id, url: `${HERE}/${n}` })),
  )
  expect(await waiting(0, HERE)).toBe(1)
  const outcomes = (await raw.xrange(`${TAGS[0]}:outcomes`, '-', '+')).map(([, [, json]]) => JSON.parse(json as string))
  expect(outcomes).toMatchObject(
    [0, 1, 2].map((n) => ({
      kind: 'invalid',
      reason: 'bad-candidate',
      url: `${HERE}/${n}`,
      id: expect.stringMatching(`^#:odd@\\d+\\.${n}$`),
    })),
  )
})

test('a job under a name used before, whose URLs have no ids, brings its own while the first ones still wait', async () => {
  await gateway()
  for (const night of [1, 2]) await carryOut('nightly', [{ url: `${HERE}/${night}` }, { url: `${THERE}/${night}` }])
  expect(await waiting(0, HERE)).toBe(2)
  expect(await waiting(1, THERE)).toBe(2)
})

/** A job whose data is not JSON, as a careless producer in another language may write it. */
async function addBroken(jobId: string, timestamp: number): Promise<void> {
  await queue.add('candidates', { url: HERE }, { jobId, timestamp, delay: 0 })
  await raw.hset(`${TAGS[0]}:candidates:${jobId}`, 'data', '{broken')
}
const sweep = (over: Partial<typeof ledger> = {}) => sweepUndecodable(raw, { ...ledger, ...over }, 0, TAGS[0] as string)

test('a job that is not JSON, under a name used before, has an outcome of its own', async () => {
  for (const day of [1, 2]) {
    await addBroken('nightly', day)
    expect(await sweep()).toEqual(['nightly'])
  }
  expect(await raw.xlen(`${TAGS[0]}:outcomes`)).toBe(2)
})

test.each([
  ['opts', '{broken'],
  ['opts', 'null'],
  ['progress', '{broken'],
  ['parent', '{broken'],
])('a job whose %s are %s is taken in like any other, and so are those behind it', async (field, text) => {
  for (const jobId of ['odd', 'behind']) await queue.add('candidates', { url: `${HERE}/${jobId}` }, { jobId })
  await raw.hset(`${TAGS[0]}:candidates:odd`, field, text)
  await gateway({ INTAKE_LOCK_MS: '1000' })
  await expect.poll(() => waiting(0, HERE), { interval: 20 }).toBe(2)
  await expect.poll(() => queue.getJobCounts('wait', 'active'), { interval: 20 }).toEqual({ wait: 0, active: 0 })
})

test('a job that cannot even be looked at keeps the sweeper from no other', async () => {
  await addBroken('broken', 1)
  await raw.set(`${TAGS[0]}:candidates:no-job`, 'text')
  await raw.rpush(`${TAGS[0]}:candidates:wait`, 'no-job')
  expect(await sweep()).toEqual(['broken'])
})

test('a sweeper that wakes late leaves a later job of the same name alone', async () => {
  await addBroken('nightly', 1)
  const replaced = sweep({
    store: async (...args) => {
      const result = await ledger.store(...args)
      await queue.remove('nightly') // another gateway has swept it, and today's comes
      await queue.add('candidates', { url: `${HERE}/today` }, { jobId: 'nightly', timestamp: 2 })
      return result
    },
  })
  expect(await replaced).toEqual([])
  expect((await queue.getJob('nightly'))?.data).toEqual({ url: `${HERE}/today` })
  expect(await queue.getJobCounts('wait')).toEqual({ wait: 1 })
})
