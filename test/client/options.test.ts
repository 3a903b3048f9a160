/** What a caller may get wrong is answered with what it gave and what is right, before anything is opened or sent. */
import { type FrontierOptions, openFrontier } from '@decorum/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const wrong = (more: object): FrontierOptions => ({ redis: redis.url, ...more })

test.for([
  ['redis://127.0.0.1', "openFrontier: its argument is 'redis://127.0.0.1'; what is needed is an object"],
  [{ redis: '' }, "openFrontier: redis is ''; what is needed is an address such as redis://127.0.0.1:6379"],
  [{ redis: { host: '127.0.0.1' } }, 'openFrontier: redis is { host: '],
  [wrong({ partitions: 0 }), 'openFrontier: partitions is 0; what is needed is a whole number from 1 to 1024'],
  [wrong({ partitions: 1.5 }), 'openFrontier: partitions is 1.5'],
  [wrong({ partitions: '3' }), "openFrontier: partitions is '3'"],
  [wrong({ patienceMs: Number.NaN }), 'openFrontier: patienceMs is NaN; what is needed is milliseconds from 0'],
  [wrong({ patienceMs: -1 }), 'openFrontier: patienceMs is -1'],
] as const)('openFrontier(%j): %s', async ([given, text]) => {
  const opened = openFrontier(given as FrontierOptions)
  await expect(opened).rejects.toThrow(TypeError)
  await expect(opened).rejects.toThrow(text)
})

test.for([undefined, {}, { redis: undefined }])(
  'openFrontier(%j) goes by REDIS_URL, and where no fleet is says what to do',
  async (given) => {
    vi.stubEnv('REDIS_URL', redis.url)
    onTestFinished(() => void vi.unstubAllEnvs())
    await (await openFrontier(given)).close()
    vi.stubEnv('REDIS_URL', '')
    vi.stubEnv('XDG_DATA_HOME', '/nowhere')
    await expect(openFrontier(given)).rejects.toThrow(
      "no fleet is running here: set REDIS_URL to its Redis, or start one with 'decorum up'",
    )
  },
)

test('an address that is none is not repeated: it may hold a password', async () => {
  const opened = openFrontier({ redis: 'postgres://me:secret@db/1' })
  await expect(opened).rejects.toThrow('a Redis address such as redis://127.0.0.1:6379 is needed')
  await expect(opened).rejects.not.toThrow('secret')
})

test.for(['crawler-1:9000', ['crawler-1:9000'], [9000], {}])(
  'content.fetchers %j is no list of addresses',
  async (fetchers) => {
    const opened = openFrontier({ redis: redis.url, content: { token: 'a-token', fetchers: fetchers as string[] } })
    await expect(opened).rejects.toThrow('content.fetchers')
    await expect(opened).rejects.toThrow(TypeError)
  },
)

test('what outcomes() and removeGroup() are given is judged before the first outcome is asked for', async () => {
  const f = await openFrontier({ redis: redis.url })
  onTestFinished(() => f.close())
  const outcomes = f.outcomes as (options?: object) => unknown
  expect(() => outcomes()).toThrow('outcomes: its argument is undefined; what is needed is an object such as {')
  expect(() => outcomes({})).toThrow('outcomes: group is undefined; what is needed is the name of a consumer group')
  expect(() => outcomes({ group: '' })).toThrow("outcomes: group is ''")
  expect(() => outcomes({ group: 'g\ud800' })).toThrow('outcomes: group is')
  expect(() => outcomes({ group: 'g', consumer: 7 })).toThrow('outcomes: consumer is 7; what is needed is a name')
  expect(() => outcomes({ group: 'g', from: 'end' })).toThrow(
    "outcomes: from is 'end'; what is needed is 'start', 'now'",
  )
  expect(() => outcomes({ group: 'g', wait: 'no' })).toThrow("outcomes: wait is 'no'; what is needed is true, false")
  await expect(f.createGroup({ group: '' })).rejects.toThrow("createGroup: group is ''")
  await expect(f.removeGroup('')).rejects.toThrow("removeGroup: group is ''")
})

test.for([undefined, null, 7, 'http://a.example/', { url: 'http://a.example/' }, new Uint8Array(3)])(
  'enqueue(%j) is refused: that is no list of candidates',
  async (given) => {
    const f = await openFrontier({ redis: redis.url })
    onTestFinished(() => f.close())
    const enqueued = f.enqueue(given as unknown as [])
    await expect(enqueued).rejects.toThrow(TypeError)
    await expect(enqueued).rejects.toThrow('what is needed is an array or an (async) iterable of candidates')
  },
)
