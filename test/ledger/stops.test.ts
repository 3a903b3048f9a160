/** Emergency stops on a real ledger: what is named starts nothing any more, whoever asks, and goes on when it is lifted. */
import { EVERYTHING } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, keys, ORIGIN, PATIENT, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const who = { by: 'ann', reason: 'they wrote to us' }
const lane = { agent: AGENT, origin: ORIGIN }
const LOOK_AGAIN = 30_000
const refused = { kind: 'refused', why: 'stopped' }

test.each([
  ['everything', EVERYTHING],
  ['the host', 'site.test'],
  ['the domain above it', 'test'],
])('%s stopped: what is reserved is not started, and nothing more is reserved', async (_, name) => {
  const { ledger, clock, reserve, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const reserved = await reserveOne()
  await ledger.stop({ ...who, names: [name] })
  expect(await startPage(reserved)).toEqual(refused)
  clock.pass(3_600_000)
  expect(await reserve()).toEqual([])
  await ledger.lift({ ...who, names: [name] })
  clock.pass(LOOK_AGAIN)
  const again = await reserveOne()
  expect(again.urls).toMatchObject([{ id: 'a' }])
  expect(await startPage(again)).toEqual({ kind: 'granted', leaseMs: expect.any(Number) })
  expect(await finish(again)).toBe('completed')
})

test('other hosts go on: those beside the stopped one, those above it, and those whose name only ends alike', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  await ledger.stop({ ...who, names: ['www.site.test', '192.0.2.1'] })
  const origins = ['http://site.test', 'http://xwww.site.test', 'http://test', 'http://2.1', 'http://192.0.2.2']
  const stopped = ['http://www.site.test', 'https://a.www.site.test:8443', 'http://192.0.2.1:81']
  await ledger.store(
    0,
    [...origins, ...stopped].map((origin, n) => url(`u${n}`, { origin })),
  )
  expect((await reserve()).map(({ origin }) => origin).sort()).toEqual([...origins].sort())
})

test('permits, robots fetches, hops and pace groups are stopped like pages, and the answer to a permit in hand says so', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  const asked = { ...lane, version: 0, delayMs: 1_000, leaseMs: 60_000, by: { agent: 'one:bot', origin: ORIGIN } }
  const permit = await ledger.grant(asked)
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  const held = [{ ...lane, fence: permit.fence }]
  expect(await ledger.confirm(held)).toBe('granted')
  await ledger.stop({ ...who, names: ['site.test', '192.0.2.1'] })
  expect(await ledger.confirm(held)).toBe('stopped')
  expect(await ledger.extend(held, 1_000)).toEqual({ kind: 'extended', stop: 'stopped', leftMs: 1_000 })
  expect(
    await ledger.complete({
      ...lane,
      fence: permit.fence,
      delayMs: 0,
      elapsedMs: 0,
      load: { kind: 'normal' },
      secondary: true,
    }),
  ).toBe('completed')
  clock.pass(1)
  expect(await ledger.grant(asked)).toMatchObject({ kind: 'wait', gate: 'stopped' })
  expect(await ledger.claim(lane)).toMatchObject({ kind: 'wait', gate: 'stopped' })
  const acquire = (kind: 'hop' | 'pace-group', origin: string) =>
    ledger.acquire({ lanes: [{ agent: AGENT, origin }], kind, delayMs: 0 })
  expect(await acquire('hop', ORIGIN)).toMatchObject({ kind: 'wait' })
  expect(await acquire('pace-group', 'address://192.0.2.1')).toMatchObject({ kind: 'wait' })
  expect(await acquire('pace-group', 'list://site.test'), 'the name of a list is no host').toMatchObject({
    kind: 'granted',
  })
  await ledger.stop({ ...who, names: [EVERYTHING] })
  expect(await acquire('pace-group', 'list://other')).toMatchObject({ kind: 'wait' })
})

test('a lane that waits for a stopped pace group comes at once when the stop is lifted', async () => {
  const { ledger, reserve, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const { fence } = await reserveOne()
  await ledger.stop({ ...who, names: ['192.0.2.1'] })
  const group = { agent: AGENT, origin: 'address://192.0.2.1' }
  const turn = await ledger.acquire({ lanes: [group], kind: 'pace-group', delayMs: 0, of: lane })
  if (turn.kind !== 'wait' || turn.gate !== 'stopped') throw new Error(JSON.stringify(turn))
  const next = { kind: 'defer' as const, until: ledger.now() + turn.waitMs, why: turn.gate }
  expect(await ledger.resolve(0, [{ ...lane, fence, dropped: [], next }])).toEqual(['completed'])
  expect(await reserve()).toEqual([])
  await ledger.lift({ ...who, names: ['192.0.2.1'] })
  expect((await reserveOne()).urls).toMatchObject([{ id: 'a' }])
})

test('what is in flight ends as usual', async () => {
  const { ledger, reserveOne, startPage, finish, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const flying = await reserveOne()
  await startPage(flying)
  await ledger.stop({ ...who, names: [EVERYTHING] })
  expect(await finish(flying)).toBe('completed')
  expect(await outcomes()).toMatchObject([{ id: 'a' }])
})

test('a stop with an end ends by itself, and one without does not', async () => {
  const { ledger, clock, reserve, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await ledger.stop({ ...who, names: [EVERYTHING], until: clock.now + 5_000 })
  clock.pass(4_999)
  expect(await reserve()).toEqual([])
  clock.pass(1)
  expect((await reserveOne()).urls).toMatchObject([{ id: 'a' }])
  await ledger.stop({ ...who, names: [EVERYTHING] })
  clock.pass(60 * 365 * 86_400_000)
  await ledger.reap(0)
  expect(await reserve()).toEqual([])
})

test('a URL that expires while it is stopped ends, and its outcome says why', async () => {
  const { ledger, clock, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, [url('a', { expiresAt: clock.now + 10_000 })])
  await ledger.stop({ ...who, names: ['site.test'] })
  expect(await ledger.reserve(0, { limit: 9, aheadMs: 0, inFlightLimit: 9, peek: 1 })).toMatchObject({ kind: 'wait' })
  clock.pass(10_000)
  expect(await reserveOne()).toMatchObject({ heldBy: 'stopped' })
})

test('it survives another run of Redis and of every process, and a reader sees who, when and why', async () => {
  const { ledger, clock, reserve, restartRedis, another } = await emptyLedger(redis)
  await ledger.stop({ ...who, names: [EVERYTHING] })
  await restartRedis()
  const anew = await another()
  clock.pass(3_600_000)
  await anew.store(0, urls('a'))
  expect(await reserve()).toEqual([])
  expect(await anew.stops.latest()).toMatchObject({
    stops: [{ name: EVERYTHING, at: expect.any(Number), by: 'ann', reason: 'they wrote to us' }],
  })
  expect(anew.stops.why(ORIGIN, undefined)).toBe('everything is stopped')
})

test('a stop that Redis has forgotten is written again by the processes that run', async () => {
  const { ledger, raw, clock } = await emptyLedger(redis)
  await ledger.stop({ ...who, names: ['site.test'] })
  await raw.del(keys.stops)
  await raw.hdel(keys.epoch, 'stops')
  await ledger.announce({ role: 'gateway', id: 'one', slots: 0 }) // as every process does once a second
  await expect.poll(() => raw.hget(keys.epoch, 'stops')).not.toBeNull()
  await ledger.store(0, urls('a'))
  clock.pass(1)
  expect(await ledger.reserve(0, { limit: 9, aheadMs: 0, inFlightLimit: 9, peek: 1 })).toMatchObject({ kind: 'wait' })
})

test('every reply of the ledger says that there is another stop, and until a process has read it nothing may be sent', async () => {
  const { ledger, another } = await emptyLedger(redis)
  const other = await another()
  expect(other.stops.why(ORIGIN, '192.0.2.1')).toBeUndefined()
  await ledger.stop({
    ...who,
    names: ['192.0.2.1', '2001:db8::1'].map((name) => (name.includes(':') ? `[${name}]` : name)),
  })
  await other.viewPartition(0)
  expect(other.stops.why(ORIGIN, undefined), 'not read yet').toMatch(/is being read/)
  await expect.poll(() => other.stops.why(ORIGIN, undefined)).toBeUndefined()
  expect(other.stops.hasAddresses()).toBe(true)
  expect(other.stops.why(ORIGIN, '::ffff:192.0.2.1')).toBe('192.0.2.1 is stopped')
  expect(other.stops.why(ORIGIN, '2001:db8:0::1')).toBe('[2001:db8::1] is stopped')
  expect(other.stops.why(ORIGIN, '192.0.2.2')).toBeUndefined()
})

test('two operators at the same time: both stops are in force', async () => {
  const { ledger, another } = await emptyLedger(redis)
  const ledgers = [ledger, await another(), await another(), await another()]
  await Promise.all(ledgers.map((one, n) => one.stop({ ...who, names: [`host-${n}.test`] })))
  const { stops } = await ledger.stops.latest()
  expect(stops.map(({ name }) => name).sort()).toEqual(['host-0.test', 'host-1.test', 'host-2.test', 'host-3.test'])
})

test('a stop is written to each partition, and to one that is found behind before anything starts there', async () => {
  const { raw, ledger } = await emptyLedger(redis, { partitions: 3 })
  await ledger.stop({ ...who, names: [EVERYTHING] })
  const fields = ledger.tags.map((tag) => `${tag}:epoch`)
  const told = () => Promise.all(fields.map((key) => raw.hget(key, 'stops')))
  const before = await told()
  expect(new Set(before)).toEqual(new Set([before[0]]))
  await raw.hdel(fields[0] as string, 'stops') // as after a change of the number of partitions
  const fresh = await openLedgerWithViews({
    redis: redis.url,
    partitions: 3,
    leaseMs: 45_000,
    quarantineMs: QUARANTINE,
    ...PATIENT,
  })
  await fresh.close()
  expect((await told())[0]).not.toBeNull()
})

test('what is wrong changes nothing', async () => {
  const { ledger } = await emptyLedger(redis)
  await ledger.stop({ ...who, names: ['a.test'] })
  const before = await ledger.stops.latest()
  await expect(ledger.lift({ ...who, names: ['b.test'] })).rejects.toThrow(
    /b\.test cannot be lifted; stopped by name: a\.test/,
  )
  await expect(ledger.stop({ ...who, names: ['b.test'], until: 1 })).rejects.toThrow(/has passed already/)
  expect(await ledger.stops.latest()).toEqual(before)
})
