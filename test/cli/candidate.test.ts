/** `decorum url why` and `decorum url cancel`: one candidate. */
import { openLedgerWithViews } from '@decorum/ledger/views'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { url } from '../ledger/ledger-for-test.ts'
import { every } from '../support/every.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const origin = 'https://site.example'
const of = { agent: 'decorum', origin }
let ledger: Awaited<ReturnType<typeof openLedgerWithViews>>
let stopFleet: (() => Promise<void>) | undefined

beforeAll(async () => {
  ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
  stopFleet = every(100, () => ledger.viewPartition(0)) // so that it is never in doubt what time it is
  await ledger.store(0, [url('a', of), url('b', of), url('again', { ...of, path: '/b' })])
})
afterAll(async () => {
  await stopFleet?.()
  await ledger.close()
})
const run = (...args: string[]) => decorumHere(args, { env: { REDIS_URL: redis.url } })

test('why tells where a URL is, under each of its ids; cancel ends one of them', async () => {
  await expect.poll(async () => (await ledger.viewPartition(0)).holdUntil).toBeUndefined() // of an empty Redis
  // A millisecond may pass between what was stored and the look: only then is the lane due since some time.
  const about = async (): Promise<string[]> => (await run('url', 'why', `${origin}/b`)).stdout.split('\n')
  await expect
    .poll(async () => (await about())[0])
    .toMatch(/^b https:\/\/site\.example\/b decorum: in its lane behind 1 URL; the lane: due for/)
  expect((await about())[1]).toMatch(/^again https:\/\/site\.example\/b decorum: in its lane behind 2 URLs; /)
  expect(await decorum(['url', 'why', `${origin}/b`], { env: { REDIS_URL: redis.url } })).toMatchObject({ code: 0 }) // the real program
  expect(
    await decorum(['url', 'cancel', 'again', '--url', `${origin}/b`], { env: { REDIS_URL: redis.url } }),
  ).toMatchObject({
    code: 0,
    stdout: 'cancelled: https://site.example/b\n',
  })
  expect(await run('url', 'cancel', 'again', '--url', `${origin}/b`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("'again' was not cancelled: it has ended: refused (cancelled)"),
  })
  const json = JSON.parse((await run('url', 'why', 'again', '--json')).stdout) as unknown
  expect(json).toMatchObject({ candidates: [{ id: 'again', state: 'ended', outcome: { reason: 'cancelled' } }] })
  expect(await run('url', 'why', 'never')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'Not searched:\n  lanes that are not due next, because its URL was not given\n  outcomes',
    ),
  })
  expect(await run('url', 'why', 'x', '--url', 'ftp://a.example')).toMatchObject({ code: 2 })
})
