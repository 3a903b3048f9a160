/** How long robots states and bodies live, and what bodies may take up. */

import { randomBytes } from 'node:crypto'
import type { ReservedLane, RobotsRecord } from '@decorum/ledger'
import { FIELD } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, type Bench, emptyLedger, keys, url } from './ledger-for-test.ts'

const redis = await redisForTest()
const HOUR = 3_600_000
const DAY = 24 * HOUR
const KIB = 1_024
const host = (name: string) => `http://${name}.example`
const by = { by: 'ann', reason: 'a test' }

/** Octets that do not deflate, of the same content for the same name. */
function noise(name: string, bytes: number): Uint8Array {
  let seed = [...name].reduce((sum, char) => sum * 31 + char.charCodeAt(0), 7)
  return Uint8Array.from({ length: bytes }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed >> 16
  })
}
const stateWith = (hash: string) => ({ copy: { kind: 'ok' as const, hash, at: 1, etag: '"v1"' } })

/** The origin's robots.txt is asked for and answered with a body of this size. */
async function learnBody(bench: Bench, origin: string, bytes: number, more: Partial<RobotsRecord> = {}) {
  const { ledger, clock } = bench
  await ledger.store(0, [url(`${origin}-${clock.now}`, { origin, agent: AGENT })])
  const wanted = { limit: 1, aheadMs: 0, inFlightLimit: 1_000, peek: 1, lane: { agent: AGENT, origin } }
  const taken = await ledger.reserve(0, wanted)
  if (taken.kind !== 'reserved') throw new Error(taken.why)
  const [{ agent, fence, robots }] = taken.lanes as [ReservedLane]
  await ledger.start({ agent, origin, fence, kind: 'robots', version: robots.version, delayMs: 0 })
  const hash = more.body?.hash ?? `h-${origin}`
  const body = { hash, bytes: noise(hash, bytes) }
  const robotsRecord = {
    agent,
    origin,
    fence,
    state: stateWith(hash),
    body,
    delays: [],
    delayMs: 0,
    elapsedMs: 0,
    ...more,
  }
  return { told: await ledger.record(robotsRecord), life: await bench.raw.pttl(keys.body(hash)) }
}
const knows = async ({ ledger }: Bench, origin: string): Promise<boolean> => {
  const [found] = await ledger.robotsStates(0, [origin])
  const viewed = (await ledger.viewOrigin(origin, [])).state
  expect(viewed.copy).toEqual(found?.state.copy)
  return found?.state.copy !== undefined
}

test('what an operator asks for a year does not keep the robots state longer than its body', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, raw } = bench
  const origin = host('year')
  expect(await learnBody(bench, origin, 100)).toMatchObject({ told: 'completed' })
  await ledger.operate({ ...by, origin, action: 'delay', delayMs: 5, until: clock.now + 365 * DAY }, [AGENT])
  expect(await raw.pttl(keys.origin(origin))).toBeGreaterThan(365 * DAY)
  clock.pass(31 * DAY - 60_000)
  expect(await knows(bench, origin)).toBe(true)
  clock.pass(120_000)
  expect(await knows(bench, origin)).toBe(false)
  await ledger.store(0, [url('later', { origin })])
  expect((await bench.reserveOne()).robots.state).toEqual({})
  expect((await ledger.viewOrigin(origin, [])).override).toMatchObject({ delayMs: 5 })
})

test('a robotsRecord under such a hand ends with its body again, 31 days on', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  const origin = host('again')
  await ledger.operate({ ...by, origin, action: 'delay', delayMs: 0, until: clock.now + 365 * DAY }, [AGENT])
  await learnBody(bench, origin, 100)
  clock.pass(20 * DAY)
  await learnBody(bench, origin, 100)
  clock.pass(20 * DAY)
  expect(await knows(bench, origin)).toBe(true)
  clock.pass(12 * DAY)
  expect(await knows(bench, origin)).toBe(false)
})

test.each(['refetch', 'resume', 'unblock'] as const)('%s has no end, and keeps nothing alive', async (action) => {
  const bench = await emptyLedger(redis)
  const origin = host(action)
  await learnBody(bench, origin, 100)
  await bench.ledger.operate({ ...by, origin, action }, [AGENT])
  expect(await bench.raw.pttl(keys.origin(origin))).toBeLessThanOrEqual(31 * DAY)
})

test("an operator's word that has run out is forgotten with the next answer", async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, raw } = bench
  const origin = host('word')
  const until = clock.now + 1_000
  await ledger.operate({ ...by, origin, action: 'delay', delayMs: 5, until }, [AGENT])
  await ledger.operate({ ...by, origin, action: 'pause', until }, [AGENT])
  await ledger.operate({ ...by, origin, action: 'block', until }, [AGENT])
  clock.pass(2_000)
  await learnBody(bench, origin, 100)
  expect(Object.keys(await raw.hgetall(keys.origin(origin))).sort()).toEqual(
    [FIELD.allOpen, FIELD.robotsState, FIELD.version].sort(),
  )
})

test('all bodies that a state may need live as long as it does', async () => {
  const bench = await emptyLedger(redis)
  const { raw, clock } = bench
  const origin = host('older')
  await learnBody(bench, origin, 100, { body: { hash: 'ok', bytes: noise('ok', 100) }, state: stateWith('ok') })
  await raw.pexpire(keys.body('ok'), DAY)
  clock.pass(1_000)
  const older = { ok: { kind: 'ok' as const, hash: 'ok', at: 1 } }
  const state = { copy: { kind: 'partial' as const, hash: 'part', at: 2 }, olderCopies: older }
  await learnBody(bench, origin, 100, { body: { hash: 'part', bytes: noise('part', 100) }, state })
  for (const hash of ['ok', 'part']) expect(await raw.pttl(keys.body(hash))).toBeGreaterThan(30 * DAY)
})

// --- the budget ------------------------------------------------------------------------------------------------------

const bodies = { domainBytes: 40 * KIB, allBytes: 80 * KIB, beyondLifeMs: HOUR }
const isLong = ({ told, life }: { told: string; life: number }) => told === 'completed' && life > 30 * DAY
const isShort = ({ told, life }: { told: string; life: number }) => told === 'completed' && life > 0 && life <= HOUR

test('beyond the budget of its registrable domain a body lives for an hour, and the state ends with it', async () => {
  const bench = await emptyLedger(redis, { bodies })
  const sub = (n: number) => `http://s${n}.wild.example`
  for (const n of [1, 2, 3]) expect(await learnBody(bench, sub(n), 12 * KIB)).toSatisfy(isLong)
  for (const n of [4, 5, 6]) expect(await learnBody(bench, sub(n), 12 * KIB)).toSatisfy(isShort)
  expect(await learnBody(bench, sub(7), 12 * KIB), 'as much as for long lives').toMatchObject({ told: 'full' })
  expect(await learnBody(bench, sub(8), 3 * KIB), 'there is room for this one').toSatisfy(isLong)
  expect(await learnBody(bench, sub(9), 3 * KIB), 'of usual size').toSatisfy(isShort)
  expect(await learnBody(bench, 'http://www.else.example', 12 * KIB), 'another domain').toSatisfy(isLong)
  expect(await knows(bench, sub(4))).toBe(true)
  bench.clock.pass(HOUR + 1_000)
  expect([await knows(bench, sub(4)), await knows(bench, sub(3))]).toEqual([false, true])
})

test('beyond the budget of all, too; and where that hour has no room left nothing is changed', async () => {
  const bench = await emptyLedger(redis, { bodies })
  const site = (n: number) => `http://www.d${n}.example`
  const told: string[] = []
  for (let n = 0; n < 16; n++) {
    const one = await learnBody(bench, site(n), 11 * KIB)
    told.push(isLong(one) ? 'long' : isShort(one) ? 'short' : one.told)
  }
  expect(told).toEqual([...Array(7).fill('long'), ...Array(7).fill('short'), 'full', 'full'])
  expect(await knows(bench, site(15))).toBe(false)
  expect((await bench.ledger.viewOrigin(site(15), [])).state.question).toBeDefined()
  bench.clock.pass(1_000)
  expect(await learnBody(bench, site(0), 11 * KIB), 'what is there may stay').toSatisfy(isLong)
  const { used } = await stored(bench)
  expect(used).toBeLessThanOrEqual(2 * bodies.allBytes)
})

test('a body that many share is paid for once a day, and one that is confirmed by what is added to its life', async () => {
  const bench = await emptyLedger(redis, { bodies })
  const same = { hash: 'same', bytes: noise('same', 12 * KIB) }
  for (let n = 0; n < 9; n++) {
    const origin = `http://s${n}.shared.example`
    expect(await learnBody(bench, origin, 0, { body: same, state: stateWith('same') })).toSatisfy(isLong)
  }
  const { spent } = await stored(bench)
  expect(spent).toBeLessThan(13 * KIB)
  await bench.raw.pexpire(keys.body('same'), 29 * DAY)
  const origin = 'http://s1.shared.example'
  bench.clock.pass(1_000)
  expect(await learnBody(bench, origin, 0, { body: same, state: stateWith('same') })).toSatisfy(isLong)
  const added = (await stored(bench)).spent - spent
  expect(Math.abs(added - (spent * 2) / 31)).toBeLessThan(2)
})

// --- origins that only a token asked about ---------------------------------------------------------------------------

/** A robots fetch that a permit or a question waits for: no URL of the origin is stored. */
async function askedAbout({ ledger, raw }: Bench, origin: string, bytes: number, more: Partial<RobotsRecord> = {}) {
  const claim = await ledger.claim({ agent: AGENT, origin })
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  const { fence, version } = claim
  await ledger.start({ agent: AGENT, origin, fence, kind: 'robots', version, delayMs: 0 })
  const hash = `h-${origin}`
  const told = await ledger.record({
    ...{ agent: AGENT, origin, fence, state: stateWith(hash), body: { hash, bytes: noise(hash, bytes) } },
    ...{ delays: [], delayMs: 0, elapsedMs: 0, unclaimedBy: 'alice' },
    ...more,
  })
  return { told, life: await raw.pttl(keys.body(hash)) }
}
const HALF_A_MINUTE = 30_000

test('what only a token asked about is kept for half a minute, and for four delays', async () => {
  const bench = await emptyLedger(redis)
  const { raw, clock } = bench
  const { told, life } = await askedAbout(bench, host('asked'), 100)
  expect(told).toBe('completed')
  expect(life).toBeLessThanOrEqual(HALF_A_MINUTE)
  const slow = await askedAbout(bench, host('slow'), 100, { delayMs: 10_000 })
  expect(slow.life).toBeGreaterThan(HALF_A_MINUTE + 30_000)
  expect(await knows(bench, host('asked'))).toBe(true)
  clock.pass(HALF_A_MINUTE + 1_000)
  expect([await knows(bench, host('asked')), await knows(bench, host('slow'))]).toEqual([false, true])
  expect(await raw.pttl(keys.origin(host('asked')))).toBeLessThan(DAY)
})

test('a permit keeps it', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw, clock } = bench
  const origin = host('kept')
  await askedAbout(bench, origin, 100)
  const [known] = await ledger.robotsStates(0, [origin])
  expect(await ledger.keep(origin, known!.state)).toBe(true)
  expect(await raw.pttl(keys.body(`h-${origin}`))).toBeGreaterThan(30 * DAY)
  clock.pass(20 * DAY)
  expect(await knows(bench, origin)).toBe(true)
})

test('one that comes too late finds nothing to keep', async () => {
  const bench = await emptyLedger(redis)
  const origin = host('late')
  await askedAbout(bench, origin, 100)
  const [known] = await bench.ledger.robotsStates(0, [origin])
  bench.clock.pass(HALF_A_MINUTE + 1_000)
  expect(await bench.ledger.keep(origin, known!.state)).toBe(false)
})

test('an origin with URLs, and one that was known for long, is kept as before', async () => {
  const bench = await emptyLedger(redis)
  const { ledger } = bench
  expect(await learnBody(bench, host('urls'), 100, { unclaimedBy: 'alice' })).toSatisfy(isLong)
  await learnBody(bench, host('known'), 100)
  const lane = { agent: AGENT, origin: host('known') }
  await ledger.dropBacklog(lane, 'test', '')
  expect(await askedAbout(bench, host('known'), 100)).toSatisfy(isLong)
})

test('an unreachable robots.txt is kept for longer than any retry', async () => {
  const bench = await emptyLedger(redis)
  const origin = host('away')
  const state = { answer: { kind: 'unreachable' as const, at: 1, reason: 'timeout' as const } }
  const claim = await bench.ledger.claim({ agent: AGENT, origin })
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  const { fence, version } = claim
  await bench.ledger.start({ agent: AGENT, origin, fence, kind: 'robots', version, delayMs: 0 })
  const about = { agent: AGENT, origin, fence, delays: [], delayMs: 0, elapsedMs: 0, unclaimedBy: 'alice' }
  expect(await bench.ledger.record({ ...about, state: state as never })).toBe('completed')
  expect(await bench.raw.pttl(keys.origin(origin))).toBeGreaterThan(DAY)
})

test('the bodies that one token asked about have a budget of their own', async () => {
  const bench = await emptyLedger(redis)
  const told: string[] = []
  for (let n = 0; n < 6; n++) {
    const body = { hash: `random-${n}`, bytes: randomBytes(100 * KIB) }
    told.push((await askedAbout(bench, host(`n${n}`), 0, { body, state: stateWith(body.hash) })).told)
  }
  expect(told).toEqual([...Array(5).fill('completed'), 'full'])
  expect((await askedAbout(bench, host('bob'), 100 * KIB, { unclaimedBy: 'bob' })).told).toBe('completed')
  expect(await learnBody(bench, host('crawled'), 100 * KIB)).toSatisfy(isLong)
})

async function stored({ raw }: Bench): Promise<{ used: number; spent: number }> {
  const bodies = await raw.keys(keys.body('*'))
  const lengths = await Promise.all(bodies.map((key) => raw.strlen(key)))
  return { used: lengths.reduce((sum, one) => sum + one, 0), spent: Number(await raw.get(keys.spent)) }
}
