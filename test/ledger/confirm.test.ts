/** confirm and unused: may a started request still be sent, and what a lane owes when it was not. */
import { LedgerUnavailableError } from '@decorum/ledger'
import { confirm as confirmVerb } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, ORIGIN, outcomeOf, recordDelay, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const by = { origin: ORIGIN, by: 'ann', reason: 'they wrote to us' }

/** One agent's lane is begun; another agent's is, too, and will be told something. */
async function started(options: Parameters<typeof emptyLedger>[1] = {}) {
  const bench = await emptyLedger(redis, options)
  const { ledger, reserve, startPage } = bench
  await ledger.store(0, [...urls('a', 'b'), url('x', { agent: 'bee' })])
  const lanes = await reserve()
  const own = lanes.find(({ agent }) => agent === AGENT)!
  const other = lanes.find(({ agent }) => agent === 'bee')!
  await startPage(own)
  await startPage(other)
  const held = [{ agent: AGENT, origin: ORIGIN, fence: own.fence, version: 0 }]
  return { ...bench, own, other, held, confirm: () => ledger.confirm(held) }
}

test('what nothing has happened to is granted again, as often as it is asked for', async () => {
  const { confirm, clock } = await started()
  for (let times = 0; times < 3; times++) {
    expect(await confirm()).toBe('granted')
    clock.pass(1_000)
  }
})

test('another agent is answered 429 meanwhile: closed', async () => {
  const { ledger, other, confirm, clock } = await started()
  const load = { kind: 'asked-for-less' as const, retryAfterMs: 30_000 }
  await ledger.complete({ ...other, delayMs: 1_000, elapsedMs: 0, load })
  expect(await confirm()).toBe('back-off')
  clock.pass(40_000)
  expect(await confirm()).toBe('granted')
})

test.each(['pause', 'block'] as const)('an operator’s %s meanwhile: closed', async (action) => {
  const { ledger, confirm } = await started()
  await ledger.operate({ ...by, action }, [AGENT])
  expect(await confirm()).toBe(action === 'pause' ? 'paused' : 'blocked')
  await ledger.operate({ ...by, action: action === 'pause' ? 'resume' : 'unblock' }, [AGENT])
  expect(await confirm()).toBe('granted')
})

test('new rules meanwhile: rules-changed', async () => {
  const bench = await started()
  await recordDelay(bench, 1_000)
  expect(await bench.confirm()).toBe('rules-changed')
})

test('a Redis that was started again meanwhile: held', async () => {
  const { confirm, restartRedis } = await started()
  await restartRedis()
  expect(await confirm()).toBe('startup-hold')
})

test('a lease that has ended, or is somebody else’s, or was never started: stale', async () => {
  const { ledger, own, clock, confirm, finish, reserveOne } = await started()
  await finish(own)
  expect(await confirm()).toBe('stale')
  clock.pass(1_000)
  const next = await reserveOne()
  expect(await ledger.confirm([{ agent: AGENT, origin: ORIGIN, fence: next.fence, version: 0 }])).toBe('stale')
})

test('a pace lane that is leased with the lane counts as well: the whole host was answered 429', async () => {
  const { ledger, held, clock } = await started()
  const host = { agent: AGENT, origin: 'https://site.test' }
  const entry = await ledger.acquire({ lanes: [host], kind: 'pace-group', delayMs: 0 })
  if (entry.kind !== 'granted') throw new Error('the clock is shut')
  const both = [...held, { ...host, fence: entry.fence }]
  expect(await ledger.confirm(both)).toBe('granted')
  await ledger.operate({ ...by, origin: host.origin, action: 'block' }, [])
  expect(await ledger.confirm(both), 'a block is for the URLs of its own origin').toBe('granted')
  await ledger.operate({ ...by, origin: host.origin, action: 'pause', until: clock.now + 1_000 }, [])
  expect(await ledger.confirm(both)).toBe('paused')
})

test('what many requests ask at one moment is one call, and each has the answer for its own lanes', async () => {
  const verbs: string[] = []
  const { ledger, own, other, held } = await started({ onCall: (verb) => void verbs.push(verb) })
  const theirs = { agent: 'bee', origin: ORIGIN, fence: other.fence, version: 0 }
  const notTheirs = { ...theirs, fence: own.fence + 1_000 }
  const asked = [
    held,
    [...held, notTheirs],
    [theirs],
    [notTheirs, theirs],
    [...held, theirs],
    [{ ...theirs, version: 7 }],
  ]
  expect(await Promise.all(asked.map((lanes) => ledger.confirm(lanes)))).toEqual([
    ...['granted', 'stale', 'granted', 'stale', 'granted', 'rules-changed'],
  ])
  expect(verbs.filter((verb) => verb === 'confirm')).toHaveLength(1)
})

test('a request that holds no lane may not be sent', async () => {
  const { ledger } = await started()
  expect(await ledger.confirm([])).toBe('stale')
})

test.each([
  ['none', []],
  ['one too few', ['granted', 'granted']],
  ['one too many', ['granted', 'granted', 'granted', 'granted']],
])('a reply with %s of the answers grants nothing', async (_, values) => {
  const lane = { agent: AGENT, origin: ORIGIN, fence: 1 }
  const call = async () => ({ now: 0, values })
  const scripts = { call, send: call, now: () => 0, aheadMs: () => 0 }
  await expect(confirmVerb(scripts, [[lane, lane], [lane]])).rejects.toThrow(LedgerUnavailableError)
})

test('unused: the URL has not been tried, and the lane opens after its delay, not before', async () => {
  const { ledger, own, clock, reserveOne, dueOf } = await started()
  const word = { ...own, dropped: [], next: { kind: 'unused' as const } }
  expect(await ledger.resolve(0, [word])).toEqual(['completed'])
  expect(await dueOf()).toBe(clock.now + 1_000)
  clock.pass(1_000)
  expect(await reserveOne()).toMatchObject({ urls: [{ id: 'a' }], tries: 0 })
  expect(await ledger.resolve(0, [word]), 'said twice').toEqual(['stale'])
})

test('unused is for what was started, under its fence', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const [lane] = await reserve()
  if (lane === undefined) throw new Error('nothing is due')
  const unused = { dropped: [], next: { kind: 'unused' as const } }
  expect(await ledger.resolve(0, [{ ...lane, ...unused }])).toEqual(['stale'])
  await ledger.start({ ...lane, kind: 'page', version: 0, delayMs: 10 })
  expect(await ledger.resolve(0, [{ ...lane, fence: lane.fence - 1, ...unused }])).toEqual(['stale'])
  const answer = await ledger.complete({
    ...lane,
    delayMs: 10,
    elapsedMs: 0,
    load: { kind: 'normal' },
    outcome: outcomeOf('a'),
  })
  expect(answer).toBe('completed')
})
