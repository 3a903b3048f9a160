/** enter: one named lane, for a request that no waiting URL asked for. */
import { step } from '@decorum/robots'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, LEASE, ORIGIN, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const lane = { agent: AGENT, origin: ORIGIN }
const GAP = 1_000

test('an idle lane is entered at once, and then owes its gap like after any request', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const entry = await ledger.enter({ lanes: [lane], kind: 'hop', gapMs: GAP })
  expect(entry).toMatchObject({ kind: 'granted', gapMs: GAP, leaseMs: LEASE })
  if (entry.kind !== 'granted') return
  clock.pass(300)
  await ledger.settle({
    ...lane,
    fence: entry.fence,
    gapMs: entry.gapMs,
    mood: { kind: 'fine' },
    restedMs: 100,
    entered: true,
  })
  expect(await dueOf()).toBe(clock.now - 100 + GAP)
  expect(await ledger.enter({ lanes: [lane], kind: 'hop', gapMs: GAP })).toEqual({ kind: 'wait', waitMs: GAP - 100 })
})

test('a lane in flight is not entered, and one that was entered is not taken', async () => {
  const { ledger, take, takeOne, beginPage, finish, clock } = await emptyLedger(redis)
  await ledger.park(0, urls('a', 'b'))
  const taken = await takeOne()
  await beginPage(taken)
  expect(await ledger.enter({ lanes: [lane], kind: 'hop', gapMs: GAP })).toEqual({ kind: 'wait', waitMs: GAP })
  await finish(taken)
  clock.pass(GAP)
  const entry = await ledger.enter({ lanes: [lane], kind: 'hop', gapMs: GAP })
  expect(entry.kind).toBe('granted')
  expect(await take()).toEqual([])
})

test('a visitor who dies keeps the lane shut for lease + gap + quarantine and costs the head no attempt', async () => {
  const { ledger, takeOne, clock, dueOf } = await emptyLedger(redis)
  await ledger.park(0, urls('a'))
  await ledger.enter({ lanes: [lane], kind: 'hop', gapMs: GAP })
  clock.pass(LEASE)
  expect(await ledger.reap(0)).toMatchObject({ begun: 1, questions: [] })
  expect(await dueOf()).toBe(clock.now + GAP + QUARANTINE)
  clock.pass(GAP + QUARANTINE)
  expect(await takeOne()).toMatchObject({ tries: 0, heads: [{ id: 'a' }] })
})

test('back-off of the site keeps visitors out too', async () => {
  const { ledger, takeOne, beginPage, finish, clock } = await emptyLedger(redis)
  await ledger.park(0, urls('a'))
  const taken = await takeOne()
  await beginPage(taken)
  await finish(taken, { mood: { kind: 'too-fast', retryAfterMs: 20_000 } } as object)
  clock.pass(GAP)
  const entry = await ledger.enter({ lanes: [{ agent: 'other', origin: ORIGIN }], kind: 'hop', gapMs: GAP })
  expect(entry.kind === 'wait' && entry.waitMs).toBeGreaterThanOrEqual(19_000)
})

test('a deferred lane that was entered is woken to the silence it owes since, not to the clock it had before', async () => {
  const { ledger, take, beginPage, clock, dueOf } = await emptyLedger(redis)
  await ledger.park(0, [url('a'), url('b', { agent: 'asker' })])
  const lanes = await take()
  const asker = lanes.find(({ agent }) => agent === 'asker')!
  const waiting = lanes.find(({ agent }) => agent === AGENT)!
  await beginPage(asker, { kind: 'robots' })
  const next = { kind: 'defer' as const, until: clock.now + 30_000, why: 'robots-being-asked' as const }
  await ledger.resolve(0, [{ ...waiting, dropped: [], next }])
  clock.pass(100)
  const entry = await ledger.enter({ lanes: [lane], kind: 'clock', gapMs: GAP })
  if (entry.kind !== 'granted') throw new Error('its own clock had long run out')
  await ledger.settle({ ...lane, fence: entry.fence, gapMs: GAP, mood: { kind: 'fine' }, restedMs: 0, entered: true })
  const gaps = [{ agent: AGENT, gapMs: GAP }]
  await ledger.learn({ ...asker, state: {}, gaps, gapMs: GAP, restedMs: 0 })
  expect(await dueOf()).toBe(clock.now + GAP)
})

test('a hold keeps visitors out', async () => {
  const { ledger, clock } = await emptyLedger(redis, { hold: true })
  clock.pass(400)
  expect(await ledger.enter({ lanes: [lane], kind: 'hop', gapMs: GAP })).toEqual({ kind: 'wait', waitMs: 600 })
})

test('an entered lane that asks for robots.txt asks alone: nobody else asks meanwhile, and what it learns is written down', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const entry = await ledger.enter({ lanes: [lane], kind: 'hop', of: lane, isRobots: true, gapMs: GAP })
  if (entry.kind !== 'granted') throw new Error('an idle lane is open')
  const { fence } = entry
  expect((await ledger.viewOrigin(ORIGIN, [])).state.question).toMatchObject({ fence })
  const other = { agent: 'other', origin: ORIGIN }
  expect(await ledger.enter({ lanes: [other], kind: 'hop', of: other, isRobots: true, gapMs: GAP })).toEqual({
    kind: 'wait',
    waitMs: 250, // it may end at any time
  })
  clock.pass(300)
  const state = step({}, { kind: 'answered', status: 404, jitter: 0 }, clock.now)
  expect(await ledger.learn({ ...lane, fence, forAsker: true, state, gaps: [], gapMs: GAP, restedMs: 0 })).toBe(
    'settled',
  )
  const end = { ...lane, fence, gapMs: GAP, restedMs: 0, mood: { kind: 'fine' as const }, entered: true as const }
  expect(await ledger.settle(end)).toBe('settled')
  expect((await ledger.viewOrigin(ORIGIN, [])).state).toMatchObject({ answer: { status: 404 } })
  expect((await ledger.viewOrigin(ORIGIN, [])).state.question).toBeUndefined()
  const due = await dueOf()
  expect(due).toBe(clock.now + GAP)
  clock.pass(LEASE + 1)
  expect(await ledger.reap(0)).toMatchObject({ begun: 0, unbegun: 0, questions: [] })
  expect(await dueOf()).toBe(due) // a visit that was left behind would close the lane once more
  expect((await ledger.enter({ lanes: [other], kind: 'hop', of: other, isRobots: true, gapMs: GAP })).kind).toBe(
    'granted',
  )
})
