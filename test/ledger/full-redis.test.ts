/** A Redis that has reached its maxmemory: frontiers are refused, what is stored is fetched, and readers make room. */

import { openFrontier } from '@decorum/client'
import { HEADROOM, outcomesAllowed } from '@decorum/ledger'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, ORIGIN, outcomeOf, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const STREAM = keys.outcomes
type Bench = Awaited<ReturnType<typeof emptyLedger>>

/** From now on every command that needs memory is refused. */
async function fill({ raw }: Bench): Promise<void> {
  onTestFinished(async () => void (await raw.config('SET', 'maxmemory', '0')))
  await raw.config('SET', 'maxmemory', '1')
}

test('a URL goes all the way to its outcome, so that its memory becomes free', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, reserveOne, startPage, finish, outcomes } = bench
  await fill(bench)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane)
  expect(await finish(lane)).toBe('completed')
  expect(await outcomes()).toHaveLength(1)
})

test('it says how full it is', async () => {
  const bench = await emptyLedger(redis)
  expect(await bench.ledger.memory()).toMatchObject({ most: 0, share: 0 })
  await fill(bench)
  const { used, most, share } = await bench.ledger.memory()
  expect([most, share]).toEqual([1, used])
  expect(share).toBeGreaterThan(HEADROOM.intake)
})

test('a frontier is refused before that, and the error says why', async () => {
  const bench = await emptyLedger(redis)
  const frontier = await openFrontier({ redis: redis.url, patienceMs: 0 })
  onTestFinished(() => frontier.close())
  await fill(bench)
  const refusal = await frontier.enqueue([{ url: `${ORIGIN}/a` }]).catch((error: Error) => error)
  expect(String((refusal as Error).message)).toMatch(/Redis uses \d+ % of its maxmemory: URLs are taken in below 80 %/)
})

test.each([
  [0.5, 1_000_000],
  [0.84, 1_000_000],
  [0.9, 10_485], // 2 % of 1 GiB, 2 KiB each
  [1.1, 10_485],
])('with %d of its memory in use, %d outcomes may be unread', (share, allowed) => {
  const most = 2 ** 30
  expect(outcomesAllowed(1_000_000, { used: share * most, most, share }, 1)).toBe(allowed)
})

test('an operator sees it, and can pause a site', async () => {
  const bench = await emptyLedger(redis)
  const { ledger } = bench
  await ledger.store(0, urls('a'))
  await fill(bench)
  expect(await ledger.viewPartition(0)).toMatchObject({ unread: 0 })
  await ledger.operate({ origin: ORIGIN, action: 'pause', by: 'me', reason: 'full' }, ['bot'])
  expect((await ledger.viewOrigin(ORIGIN, ['bot'])).paused).toBeDefined()
})

test('a reader that starts then, with a new group or one that exists, reads and makes room', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw } = bench
  await ledger.store(0, [{ outcome: outcomeOf('a') }, { outcome: outcomeOf('b') }])
  await fill(bench)
  for (const start of ['first', 'again']) {
    const frontier = await openFrontier({ redis: redis.url })
    for await (const { ack } of frontier.outcomes({ group: 'g', consumer: 'me', wait: false })) {
      await ack()
      if (start === 'first') break
    }
    await frontier.close()
  }
  await ledger.trimOutcomes(0)
  expect(await raw.xlen(STREAM)).toBe(0)
})
