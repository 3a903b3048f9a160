/** A Redis that has reached its maxmemory: nothing new is stored or granted, leases still end, and readers make room. */

import { openFrontier } from '@decorum/client'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, ORIGIN, outcomeOf, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const STREAM = keys.outcomes
type Bench = Awaited<ReturnType<typeof emptyLedger>>

/** From now on every command that needs memory is refused. */
async function fill({ raw }: Bench): Promise<void> {
  onTestFinished(async () => void (await raw.config('SET', 'maxmemory', '0')))
  await raw.config('SET', 'maxmemory', '1')
}

test('nothing is stored or granted, and what has been granted ends with its outcome', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, reserveOne, startPage, finish, outcomes, clock } = bench
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane)
  await ledger.store(0, [url('b', { origin: 'http://other.test' })])
  await fill(bench)
  await expect(ledger.store(0, urls('c'))).rejects.toThrow(/OOM/)
  await expect(reserveOne()).rejects.toThrow(/OOM/)
  expect(await finish(lane)).toBe('completed')
  expect(await outcomes()).toHaveLength(1)
  clock.pass(QUARANTINE)
  await expect(ledger.reap(0)).resolves.toMatchObject({ started: 0 })
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
