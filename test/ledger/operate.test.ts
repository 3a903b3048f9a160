/** operate: what an operator does to one origin, and the record of it. */
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, ORIGIN, RESERVE, recordDelay, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const by = { origin: ORIGIN, by: 'ann', reason: 'they wrote to us' }
const lane = { agent: AGENT, origin: ORIGIN }

test('a lane of a paused origin is not reserved, and what is reserved already is not started', async () => {
  const { ledger, clock, reserve, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const reserved = await reserveOne()
  await ledger.operate({ ...by, action: 'pause', until: clock.now + 60_000 }, [AGENT])
  expect(await startPage(reserved)).toEqual({ kind: 'refused', why: 'paused' })
  clock.pass(59_999)
  expect(await reserve()).toEqual([])
  clock.pass(1)
  const lane = await reserveOne()
  expect(lane.heldBy).toBe('paused')
  await startPage(lane)
  expect(await finish(lane)).toBe('completed')
})

test('resume wakes the lane to its own due time, not before it', async () => {
  const { ledger, clock, reserve, reserveOne, visit, dueOf } = await emptyLedger(redis)
  await visit('first', 5_000)
  const opens = clock.now + 5_000
  await ledger.store(0, urls('a'))
  await ledger.operate({ ...by, action: 'pause' }, [AGENT])
  clock.pass(5_000)
  expect(await reserve()).toEqual([])
  expect(await dueOf()).toBeGreaterThan(clock.now)
  await ledger.operate({ ...by, action: 'resume' }, [AGENT])
  expect(await dueOf()).toBe(opens)
  expect(await reserveOne()).toMatchObject({ urls: [{ id: 'a' }] })
})

test('a pause that ends sooner than the one in whose place it comes wakes what waits for the first, on other ports, too', async () => {
  const { ledger, clock, reserve } = await emptyLedger(redis)
  const [port, paceLane] = ['http://site.test:8080', { agent: AGENT, origin: 'https://site.test' }]
  const pause = (ms: number) => ledger.operate({ ...by, action: 'pause', until: clock.now + ms }, [AGENT])
  const tryAll = async () => {
    for (const { agent, origin, fence } of await reserve())
      await ledger.start({ agent, origin, fence, kind: 'page', version: 0, delayMs: 1_000, paceLane })
  }
  await ledger.store(0, [...urls('a'), url('b', { origin: port })])
  await pause(3_600_000)
  await tryAll()
  expect(await reserve()).toEqual([])
  await pause(4_000)
  await tryAll()
  clock.pass(4_000)
  expect((await reserve()).map(({ origin }) => origin).sort()).toEqual([ORIGIN, port])
})

test('each port of a host may be paused: the host waits for the last of them', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  const host = 'https://two.test'
  const pause = (origin: string, ms: number) =>
    ledger.operate({ ...by, origin, action: 'pause', until: clock.now + ms }, [AGENT])
  const holds = async () =>
    (await ledger.viewOrigin(host, [AGENT])).lanes[0]?.closed.map(({ gate, until }) => [gate, until - clock.now])
  await pause('http://two.test', 60_000)
  await pause('http://two.test:8080', 10_000)
  expect(await holds(), 'a shorter pause ends no longer one').toEqual([['paused', 60_000]])
  await ledger.operate({ ...by, origin: 'http://two.test', action: 'resume' }, [AGENT])
  expect(await holds(), 'the other pause goes on').toEqual([['paused', 10_000]])
  await ledger.operate({ ...by, origin: host, action: 'resume' }, [AGENT])
  expect(await holds(), 'nobody has ended it').toEqual([['paused', 10_000]])
  clock.pass(10_000)
  expect(await holds()).toEqual([])
})

test('a longer delay counts at once, for a running silence too; after its end the rules count again', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf } = bench
  await recordDelay(bench, 1_000)
  clock.pass(1)
  await ledger.store(0, urls('a'))
  const lane = await bench.reserveOne()
  await bench.startPage(lane, { version: 1 })
  await bench.finish(lane)
  const before = await dueOf()
  await ledger.operate({ ...by, action: 'delay', delayMs: 20_000, until: clock.now + 100_000 }, [AGENT])
  expect(await dueOf()).toBe((before ?? 0) + 19_000)
  clock.pass(20_000)
  await ledger.store(0, urls('b'))
  const next = await bench.reserveOne()
  await bench.startPage(next, { version: 1 })
  await bench.finish(next)
  expect(await dueOf()).toBe(clock.now + 20_000)
  clock.pass(100_000)
  await ledger.store(0, urls('c'))
  const last = await bench.reserveOne()
  await bench.startPage(last, { version: 1 })
  await bench.finish(last)
  expect(await dueOf()).toBe(clock.now + 1_000)
})

test('a delay by hand never goes below what the rules owe', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage, finish, dueOf } = bench
  await ledger.operate({ ...by, action: 'delay', delayMs: 10, until: clock.now + 100_000 }, [AGENT])
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane, { delayMs: 3_000 })
  await finish(lane, { delayMs: 3_000 })
  expect(await dueOf()).toBe(clock.now + 3_000)
})

test('a blocked origin comes up with the reason, and nothing of it is started', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const reserved = await reserveOne()
  await ledger.operate({ ...by, action: 'block', until: clock.now + 60_000 }, [AGENT])
  expect(await startPage(reserved)).toEqual({ kind: 'refused', why: 'blocked' })
  await ledger.operate({ ...by, action: 'block', until: clock.now + 60_000 }, [AGENT])
  expect(await reserveOne()).toMatchObject({ blocked: by.reason })
})

test('refetch is asked for until the next answer has been recorded', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, reserveOne } = bench
  await ledger.operate({ ...by, action: 'refetch' }, [AGENT])
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  expect(lane.refetch).toBe(true)
  await ledger.resolve(0, [{ ...lane, dropped: [], next: { kind: 'release' } }])
  await recordDelay(bench, 100) // it takes whatever is due, this lane too
  bench.clock.pass(RESERVE)
  await ledger.reap(0)
  expect((await reserveOne()).refetch).toBeUndefined()
})

test('a dropped backlog ends URL by URL as refused; what comes later stays, and delays go on', async () => {
  const { ledger, clock, visit, outcomes, dueOf, reserveOne } = await emptyLedger(redis)
  await visit('done', 9_000)
  const opens = clock.now + 9_000
  await ledger.store(0, urls(...Array.from({ length: 150 }, (_, n) => `u${n}`)))
  expect(await ledger.dropBacklog(lane, 'ann', 'not wanted any more')).toBe(150)
  const dropped = (await outcomes()).filter(({ kind }) => kind === 'refused')
  expect(dropped).toHaveLength(150)
  expect(new Set(dropped.map(({ id }) => id)).size).toBe(150)
  expect(dropped[0]).toMatchObject({ kind: 'refused', reason: 'backlog-dropped', url: `${ORIGIN}/u0` })
  expect(await dueOf()).toBe(opens)
  await ledger.store(0, urls('later'))
  clock.pass(9_000)
  expect(await reserveOne()).toMatchObject({ urls: [{ id: 'later' }] })
})

test('a drop that is given up half way is written down with what it did', async () => {
  const { ledger, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('flying', 'a', 'b'))
  await startPage(await reserveOne())
  await expect(ledger.dropBacklog(lane, 'ann', 'enough', AbortSignal.timeout(150))).rejects.toThrow()
  expect(await ledger.operations(0, 1)).toMatchObject([{ action: 'drop', value: '0', by: 'ann', reason: 'enough' }])
})

test('dropping ends what waited when it was asked for, and nothing that came later, whatever its priority', async () => {
  const { ledger, reserveOne, startPage, finish, outcomes, raw } = await emptyLedger(redis)
  const high = { priority: 'high' as const }
  const calls = async () => Number(/cmdstat_exec:calls=(\d+)/.exec(await raw.info('commandstats'))?.[1] ?? 0)
  await ledger.store(0, [...urls('flying', 'a', 'b'), url('h1', high)])
  const first = await reserveOne()
  expect(first.urls[0]?.id).toBe('h1')
  await startPage(first)
  const before = await calls()
  const dropping = ledger.dropBacklog(lane, 'ann', 'enough')
  // By now the last URLs have been looked up: those that follow stand behind them.
  await expect.poll(calls).toBeGreaterThan(before)
  await ledger.store(0, [...urls('later'), url('later-high', high)])
  await finish(first, { delayMs: 0 })
  expect(await dropping).toBe(3)
  const dropped = (await outcomes()).filter(({ kind }) => kind === 'refused').map(({ id }) => id)
  expect(dropped).toEqual(['flying', 'a', 'b'])
  expect((await reserveOne({ peek: 5 })).urls.map(({ id }) => id)).toEqual(['later-high'])
})

test('a dropped URL says how often it was tried', async () => {
  const { ledger, clock, reserveOne, startPage, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('tried', 'never'))
  const first = await reserveOne()
  await startPage(first)
  await ledger.complete({ ...first, delayMs: 10, elapsedMs: 0, load: { kind: 'normal' } })
  clock.pass(10)
  await ledger.dropBacklog(lane, 'ann', 'enough')
  expect((await outcomes()).map(({ id, attempts }) => [id, attempts])).toEqual([
    ['tried', 1],
    ['never', 0],
  ])
})

test.each([1e18, Number.POSITIVE_INFINITY, Number.MAX_VALUE])(
  'an end beyond what can be counted (%s) lasts until somebody ends it, and is written down',
  async (until) => {
    const { ledger } = await emptyLedger(redis)
    for (const action of ['pause', 'block'] as const) await ledger.operate({ ...by, action, until }, [AGENT])
    await ledger.operate({ ...by, action: 'delay', delayMs: until, until }, [AGENT])
    const { paused, blocked, override } = await ledger.viewOrigin(ORIGIN, [AGENT])
    const forever = Date.UTC(2100, 0, 1)
    expect([paused?.until, blocked?.until, override?.until]).toEqual([forever, forever, forever])
    expect(override?.delayMs).toBe(31 * 86_400_000)
    expect(await ledger.operations(0, 10)).toMatchObject([
      { action: 'delay', until: forever },
      { action: 'block', until: forever },
      { action: 'pause', until: forever },
    ])
  },
)

test('an end or a delay that is no number does nothing at all', async () => {
  const { ledger } = await emptyLedger(redis)
  await expect(ledger.operate({ ...by, action: 'pause', until: Number.NaN }, [AGENT])).rejects.toThrow(/until/)
  await expect(ledger.operate({ ...by, action: 'delay', delayMs: Number.NaN, until: 1 }, [AGENT])).rejects.toThrow(
    /delayMs/,
  )
  expect((await ledger.viewOrigin(ORIGIN, [AGENT])).paused).toBeUndefined()
  expect(await ledger.operations(0, 10)).toEqual([])
})

test('every operation is written down, newest first, with who and why', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  await ledger.operate({ ...by, action: 'pause', until: clock.now + 1_000 }, [AGENT])
  clock.pass(5)
  await ledger.operate({ ...by, action: 'resume', reason: 'all well' }, [AGENT])
  expect(await ledger.operations(0, 10)).toMatchObject([
    { at: clock.now, by: 'ann', action: 'resume', origin: ORIGIN, reason: 'all well' },
    { at: clock.now - 5, action: 'pause', reason: by.reason },
  ])
  expect((await ledger.viewOrigin(ORIGIN, [AGENT])).paused).toBeUndefined()
})

test('the delay set by hand also counts after a robots.txt request, whatever its rules ask', async () => {
  const { ledger, clock, reserveOne, startPage, dueOf } = await emptyLedger(redis)
  await ledger.operate({ ...by, action: 'delay', delayMs: 60_000, until: clock.now + 3_600_000 }, [AGENT])
  await ledger.store(0, urls('a'))
  const asker = await reserveOne()
  await startPage(asker, { kind: 'robots' })
  await ledger.record({ ...asker, state: {}, delays: [{ agent: AGENT, delayMs: 1_000 }], delayMs: 1_000, elapsedMs: 0 })
  expect(await dueOf()).toBe(clock.now + 60_000)
})

test('rules that come in while a lane is in flight do not undo the delay set by hand', async () => {
  const { ledger, clock, reserve, startPage, finish, dueOf } = await emptyLedger(redis)
  await ledger.operate({ ...by, action: 'delay', delayMs: 60_000, until: clock.now + 3_600_000 }, [AGENT])
  await ledger.store(0, [...urls('a'), url('b', { agent: 'asker' })])
  const lanes = await reserve()
  const [mine, asker] = [AGENT, 'asker'].map((agent) => lanes.find((one) => one.agent === agent)!)
  await startPage(mine!)
  await startPage(asker!, { kind: 'robots' })
  await ledger.record({
    ...asker!,
    state: {},
    delays: [{ agent: AGENT, delayMs: 1_000 }],
    delayMs: 1_000,
    elapsedMs: 0,
  })
  await finish(mine!)
  expect(await dueOf()).toBe(clock.now + 60_000)
})

test('the delay set by hand also counts after a secondary lease', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  await ledger.operate({ ...by, action: 'delay', delayMs: 60_000, until: clock.now + 3_600_000 }, [AGENT])
  const entry = await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: 1_000 })
  if (entry.kind !== 'granted') throw new Error('the lane is idle')
  await ledger.complete({
    ...lane,
    fence: entry.fence,
    delayMs: 1_000,
    elapsedMs: 0,
    load: { kind: 'normal' },
    secondary: true,
  })
  expect(await dueOf()).toBe(clock.now + 60_000)
})

test('the delay set by hand is shown with the lane while it counts, and owed by the pace lane that is started with it', async () => {
  const { ledger, clock, reserveOne, finish } = await emptyLedger(redis)
  const port = 'http://site.test:8080'
  const paceLane = { agent: AGENT, origin: 'https://site.test' }
  await ledger.operate({ ...by, origin: port, action: 'delay', delayMs: 60_000, until: clock.now + 70_000 }, [AGENT])
  await ledger.store(
    0,
    ['a', 'b'].map((id) => url(id, { origin: port })),
  )
  const lane = await reserveOne()
  expect(lane.delayMs).toBe(60_000)
  const permit = await ledger.start({ ...lane, kind: 'page', version: 0, delayMs: 1_000, paceLane })
  expect(permit).toMatchObject({ kind: 'granted', paceLane: { delayMs: 60_000 } })
  await finish(lane)
  clock.pass(70_000)
  expect((await reserveOne()).delayMs).toBeUndefined()
})

test('a blocked origin is given no secondary lease either', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  await ledger.operate({ ...by, action: 'block', until: clock.now + 60_000 }, [AGENT])
  expect(await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: 1_000 })).toEqual({ kind: 'blocked' })
})
