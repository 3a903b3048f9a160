/** cancel: one pending URL ends with one outcome, also while a gateway or a fetcher works on its lane; and how it is found. */
import type { LaneRef } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, keys, LEASE, ORIGIN, outcomeOf, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const lane: LaneRef = { agent: AGENT, origin: ORIGIN }

async function cancel(ledger: LedgerWithViews, id: string): Promise<string> {
  const { found } = await ledger.findPending(lane, { id })
  const [one] = found
  if (one === undefined) return 'not found'
  return ledger.cancel(one, outcomeOf(id, { kind: 'refused', reason: 'cancelled', attempts: 0 }))
}
const left = async (ledger: LedgerWithViews): Promise<string[]> =>
  (await ledger.findPending(lane, {})).found.map(({ pending }) => pending.id)

test('a URL anywhere in its lane ends as refused: cancelled; its id is free again, and the order of the others stays', async () => {
  const { ledger, outcomes } = await emptyLedger(redis)
  await ledger.store(0, [...urls('a', 'b', 'c', 'd'), url('h1', { priority: 'high' }), url('h2', { priority: 'high' })])
  expect(await left(ledger)).toEqual(['h1', 'h2', 'a', 'b', 'c', 'd'])
  for (const id of ['c', 'a', 'h2', 'd']) expect(await cancel(ledger, id)).toBe('cancelled')
  expect(await left(ledger)).toEqual(['h1', 'b'])
  expect((await outcomes()).map(({ id, kind }) => [id, kind])).toEqual([
    ['c', 'refused'],
    ['a', 'refused'],
    ['h2', 'refused'],
    ['d', 'refused'],
  ])
  expect(await ledger.storedIn('a')).toEqual([])
  expect(await ledger.storedIn('b')).toEqual([0])
  expect(await ledger.store(0, urls('a'))).toMatchObject({ stored: 1 })
  expect(await ledger.viewPartition(0)).toMatchObject({ waiting: 3, counts: { refused: 4 } })
})

test('a URL that has left is absent, and nothing is written', async () => {
  const { ledger, outcomes, visit } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const [a, b] = (await ledger.findPending(lane, {})).found
  if (a === undefined || b === undefined) throw new Error('both are there')
  expect(await cancel(ledger, 'b')).toBe('cancelled')
  expect(await ledger.cancel(b, outcomeOf('b'))).toBe('absent')
  expect(await cancel(ledger, 'a')).toBe('cancelled')
  expect(await ledger.cancel(a, outcomeOf('a'))).toBe('absent')
  await visit('c', 1_000)
  expect(await cancel(ledger, 'c')).toBe('not found')
  expect((await outcomes()).map(({ id }) => id)).toEqual(['b', 'a', 'c'])
})

test('of a reserved lane: the order is refused a lease, the gateway drops nothing, and the lane is due when it was', async () => {
  const { ledger, outcomes, reserveOne, startPage, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b', 'c'))
  for (const [id, rest] of [
    ['a', ['b', 'c']],
    ['c', ['b']],
  ] as const) {
    const reserved = await reserveOne({ peek: 3 })
    expect(await cancel(ledger, id)).toBe('cancelled')
    // It had seen that the first two are forbidden
    const dropped = reserved.urls.slice(0, 2).map((head) => outcomeOf(head.id))
    const resolution = { ...lane, fence: reserved.fence, dropped, next: { kind: 'release' } as const }
    expect(await ledger.resolve(0, [resolution])).toEqual(['stale'])
    expect(await startPage(reserved)).toMatchObject({ kind: 'refused', why: 'stale' })
    expect(await left(ledger)).toEqual(rest)
    expect(await dueOf()).toBe(reserved.notBefore)
  }
  expect((await outcomes()).map(({ id }) => id)).toEqual(['a', 'c'])
})

test('what is in flight is not cancelled; what waits behind it is, and the one in flight ends by its own outcome', async () => {
  const { ledger, outcomes, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b', 'c'))
  const reserved = await reserveOne()
  await startPage(reserved)
  expect(await cancel(ledger, 'a')).toBe('in-flight')
  expect(await cancel(ledger, 'b')).toBe('cancelled')
  expect(await finish(reserved)).toBe('completed')
  expect(await left(ledger)).toEqual(['c'])
  expect((await outcomes()).map(({ id, kind }) => [id, kind])).toEqual([
    ['b', 'refused'],
    ['a', 'failed'],
  ])
})

test('the delay of a lane goes on when its last URL is cancelled', async () => {
  const { ledger, clock, visit, reserve, reserveOne } = await emptyLedger(redis)
  await visit('first', 5_000)
  await ledger.store(0, urls('a'))
  expect(await cancel(ledger, 'a')).toBe('cancelled')
  await ledger.store(0, urls('b'))
  clock.pass(4_999)
  expect(await reserve()).toEqual([])
  clock.pass(1)
  expect((await reserveOne()).urls[0]?.id).toBe('b')
})

test('a look goes through so many URLs, and says whether there were more', async () => {
  const { ledger } = await emptyLedger(redis)
  for (let at = 0; at < 3_000; at += 200)
    await ledger.store(0, urls(...Array.from({ length: 200 }, (_, n) => `u${at + n}`)))
  expect(await ledger.findPending(lane, { id: 'u2999' }, 2_000)).toEqual({ found: [], complete: false })
  const { found, complete } = await ledger.findPending(lane, { id: 'u2999', path: '/u2999' })
  expect([found[0]?.place, complete]).toEqual([2_999, true])
  expect(await ledger.findPending(lane, { id: 'u2999', path: '/u1' })).toEqual({ found: [], complete: true })
})

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1e6))
test(`seed ${SEED}: among storing, reserving, dropping, fetching and lost leases each URL has one outcome or is stored`, async () => {
  const { ledger, clock, raw, outcomes, reserve, startPage, finish } = await emptyLedger(redis)
  let state = SEED
  const dice = (sides: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
  const known: string[] = []
  let held: Awaited<ReturnType<typeof reserve>> = []
  let isStarted = false
  let cancelled = 0
  for (let step = 0; step < 1_500; step++) {
    const [one] = held
    switch (dice(8)) {
      case 0: {
        const fresh = Array.from({ length: 1 + dice(4) }, (_, n) => `${step}-${n}`)
        known.push(...fresh)
        await ledger.store(
          0,
          fresh.map((id) => url(id, { priority: dice(3) === 0 ? 'high' : 'normal' })),
        )
        break
      }
      case 1:
        clock.pass(dice(3) === 0 ? LEASE + QUARANTINE : 1_000)
        break
      case 2:
        if (held.length === 0) [held, isStarted] = [await reserve({ peek: 1 + dice(4) }), false]
        break
      case 3:
        if (one !== undefined && !isStarted) {
          const dropped = one.urls.slice(0, dice(3)).map(({ id }) => outcomeOf(id))
          await ledger.resolve(0, [{ ...lane, fence: one.fence, dropped, next: { kind: 'release' } }])
          held = []
        }
        break
      case 4:
        if (one !== undefined && !isStarted) {
          isStarted = (await startPage(one, { delayMs: 100 })).kind === 'granted'
          if (!isStarted) held = []
        }
        break
      case 5:
        if (one !== undefined && isStarted) {
          await finish(one, { delayMs: 100 })
          held = []
        }
        break
      case 6:
        await ledger.reap(0)
        if (dice(2) === 0) held = []
        break
      default: {
        const id = known[dice(known.length)]
        if (id !== undefined && (await cancel(ledger, id)) === 'cancelled') cancelled++
      }
    }
  }
  const ended = (await outcomes()).map(({ id }) => id)
  const waiting = await left(ledger)
  expect(cancelled).toBeGreaterThan(50)
  expect([...ended, ...waiting].sort()).toEqual(known.sort())
  for (const id of waiting) expect(await ledger.storedIn(id)).toEqual([0])
  expect((await raw.zcard(keys.due)) + (await raw.zcard(keys.inFlight)), 'a lane is due or has a lease').toBe(1)
})
