/** `decorum status readers` and `decorum status`: who reads outcomes, and what the crawl waits for. */
import { makeGroup } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { outcomeOf } from '../ledger/ledger-for-test.ts'
import { every } from '../support/every.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
const STREAM = '{decorum:0}:outcomes'
let ledger: Awaited<ReturnType<typeof openLedgerWithViews>>
let stopFleet: (() => Promise<void>) | undefined

beforeAll(async () => {
  ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
  await ledger.store(0, [{ outcome: outcomeOf('a') }, { outcome: outcomeOf('b') }])
  await makeGroup(raw, [STREAM], 'gone', 'start')
  await makeGroup(raw, [STREAM], 'reads', 'start')
  const read = (from: string) => raw.xreadgroup('GROUP', 'reads', 'host-1', 'COUNT', 1, 'STREAMS', STREAM, from)
  await read('>')
  stopFleet = every(100, async () => {
    await ledger.viewPartition(0) // so that it is never in doubt what time it is
    await read('0').catch(() => undefined) // somebody reads, however long the commands take; the group is forgotten in the end
  })
})
afterAll(async () => {
  await stopFleet?.()
  await ledger.close()
  raw.disconnect()
})
const run = (...args: string[]) => decorumHere(args, { env: { REDIS_URL: redis.url } })

test('readers shows each group and its consumers; the same as JSON', async () => {
  const { code, stdout } = await decorum(['status', 'readers'], { env: { REDIS_URL: redis.url } }) // the real program
  const lines = stdout.trim().split('\n')
  expect(code).toBe(0)
  expect(lines[0]).toMatch(/^group +state +not handed out +not acknowledged +oldest +id +consumers +last seen$/)
  expect(lines[1]).toMatch(/^gone +nobody reads +2 +0 +\d.* s +a +0 +-$/)
  expect(lines[2]).toMatch(/^reads +reading +1 +1 +\d.* s +a +1 +\d.* s ago$/)
  expect(lines[3]).toMatch(/^ {2}host-1: holds 1, last seen \d.* s ago$/)
  const json = JSON.parse((await run('status', 'readers', '--json')).stdout) as unknown
  expect(json).toMatchObject({
    crawl: 'default',
    readers: [
      { group: 'gone', lag: 2 },
      { group: 'reads', pending: 1 },
    ],
  })
  expect(await run('status', 'readers', '--crawl', 'Big')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('lower-case'),
  })
  expect((await run('status', 'readers', '--crawl', 'news')).stdout).toBe(
    "no group reads the outcomes of the crawl 'news'\n",
  )
})

test('status says in a sentence how the fleet is, and who is behind', async () => {
  await expect.poll(async () => (await ledger.viewPartition(0)).holdUntil).toBeUndefined() // of an empty Redis
  const { stdout } = await decorum(['status'], { env: { REDIS_URL: redis.url } })
  expect(stdout).toContain('Nothing to do\n')
  expect(stdout).toContain("reader 'gone': 2 unread outcomes\n")
  expect(JSON.parse((await run('status', '--json')).stdout)).toMatchObject({ tone: 'calm', unread: 2 })
})

test('outcomes --forget: not one that is read, unless it is forced; written down', async () => {
  expect(await run('outcomes', '--forget', '--group', 'reads')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("a reader of 'reads' was active within the last minute"),
  })
  expect(await run('outcomes', '--forget', '--group', 'never')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no group 'never' reads the outcomes of the crawl 'default'"),
  })
  expect(await ledger.operations(0, 9)).toEqual([])
  const done = await decorum(
    ['outcomes', '--forget', '--group', 'gone', '--reason', 'its machine is gone', '--by', 'ann'],
    {
      env: { REDIS_URL: redis.url },
    },
  )
  expect(done).toMatchObject({ code: 0, stdout: "forgotten: 'gone', which had 2 unread outcomes\n" })
  expect(await ledger.operations(0, 9)).toMatchObject([
    { action: 'forget-reader', group: 'gone', by: 'ann', reason: 'its machine is gone', value: '2' },
  ])
  expect((await run('outcomes', '--forget', '--group', 'reads', '--force', '--json')).stdout).toContain('"unread":2')
})
