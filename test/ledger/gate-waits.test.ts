/**
 * What becomes of a lane that a gate holds: it waits until the gate opens or the first URL in any of its lists expires, whichever comes first, and
 * is woken where somebody opens the gate before. One test for each gate that waits, and each place where a lane is refused because of it.
 */
import { laneName, listOf } from '@decorum/ledger/testing'
import { cellOf, GATE_TABLE, type What } from '@decorum/protocol/gates'
import { afterAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { EVERYTHING_DUE, GROUP, group, port, reserveOne, site, start } from './gate-acts.ts'
import { CLOSERS, type Closed, type Closer, CRAWL, SITE } from './gate-closers.ts'
import { cellBench, type Lane, type World } from './gate-world.ts'
import { outcomeOf, url } from './ledger-for-test.ts'

const redis = await redisForTest()
const bench = cellBench(redis.url)
afterAll(() => bench.close())

type Refusal = {
  /** where the lane is refused */
  at: string
  lane: Lane
  /** whose gate is closed */
  origin: string
  what: What
  moment: 'reserve' | 'grant'
  paceLane?: Lane
}
const REFUSALS: Refusal[] = [
  { at: 'before its reservation', lane: site, origin: SITE, what: 'page', moment: 'reserve' },
  { at: 'before its grant', lane: site, origin: SITE, what: 'page', moment: 'grant' },
  { at: 'before the grant of a robots fetch', lane: site, origin: SITE, what: 'robots', moment: 'grant' },
  { at: 'by the lane of the host', lane: port, origin: SITE, what: 'host', moment: 'grant', paceLane: site },
  { at: 'by the lane of a pace group', lane: site, origin: GROUP, what: 'group', moment: 'grant', paceLane: group },
]
/** A page and a robots fetch are refused by the same gates but one. */
const isAnother = (gate: string, { what }: Refusal): boolean => what !== 'robots' || gate === 'robots-in-flight'

type Case = { closer: Closer; refusal: Refusal }
const cases = CLOSERS.flatMap((closer): [string, Case][] => {
  const { gate, through } = closer
  if (GATE_TABLE[gate].manner !== 'waits') return []
  return REFUSALS.filter(
    (refusal) =>
      cellOf(gate, refusal.what, refusal.moment) === true &&
      isAnother(gate, refusal) &&
      (through === undefined || refusal.origin === SITE),
  ).map((refusal) => [
    `${gate}${through === undefined ? '' : `, closed ${through}`}: refused ${refusal.at}`,
    { closer, refusal },
  ])
})

/** Reserves what is due; @returns the first URL, and the gate that held its lane before. */
async function reserve({ own }: World) {
  const found = await own.reserve(EVERYTHING_DUE)
  const [lane] = found.kind === 'reserved' ? found.lanes : []
  return lane && { fence: lane.fence, id: lane.urls[0]?.id, heldBy: lane.heldBy }
}
const startAgain = (w: World, { lane, what, paceLane }: Refusal, fence: number) =>
  start(w.own, lane, fence, {
    kind: what === 'robots' ? 'robots' : 'page',
    ...(paceLane === undefined ? {} : { paceLane }),
  })
const another = ({ lane }: Refusal, expiresAt: number, priority: 'high' | 'normal' = 'high') =>
  url('b', { ...lane, crawl: CRAWL, priority, expiresAt })

/**
 * A lane with one URL is refused, because a gate is closed.
 * @param before  when the gate is closed, and the lane is not refused yet
 */
async function refuse({ closer, refusal }: Case, before: (w: World) => Promise<unknown> | undefined = () => undefined) {
  const { lane, moment, origin } = refusal
  const w = await bench.open()
  let closed: Closed
  if (moment === 'reserve') {
    await w.own.store([url('a', { ...lane, crawl: CRAWL })])
    closed = await closer.close(w, origin)
    await before(w)
  } else {
    const fence = await reserveOne(w, lane)
    closed = await closer.close(w, origin)
    await before(w)
    expect(await startAgain(w, refusal, fence)).toEqual({ kind: 'refused', why: closer.gate })
  }
  expect(await reserve(w), 'nothing is due').toBeUndefined()
  return { w, closed, until: closed.until as number, due: await w.dueOf(lane) }
}
/** The hold of the fleet answers before any lane is looked at, so it moves none that was not reserved. */
const staysDue = ({ closer, refusal }: Case): boolean => closer.gate === 'startup-hold' && refusal.moment === 'reserve'
/** By that name its URLs end that expire. */
const gateOfOutcome = ({ closer: { gate } }: Case): string => (gate === 'startup-hold' ? 'lane-busy' : gate)

describe('a lane that is held waits until its gate opens, and then goes on', () => {
  test.each(cases)('%s', async (_, one) => {
    const { w, closed, until, due } = await refuse(one)
    expect(due).toBe(staysDue(one) ? w.clock.now : until)
    if (one.closer.gate === 'crawl-held') await closed.open?.()
    w.clock.pass(until - w.clock.now - 1)
    expect(await reserve(w), 'a moment before').toBeUndefined()
    w.clock.pass(1)
    const reserved = await reserve(w)
    expect(reserved?.id).toBe('a')
    expect(await startAgain(w, one.refusal, reserved?.fence ?? 0)).toMatchObject({ kind: 'granted' })
  })
})

const SOON = 10_000
describe('its first URL in any list that expires before ends then', () => {
  test.each(cases)('%s', async (_, one) => {
    const { w, until, due } = await refuse(one, (w) => w.own.store([another(one.refusal, w.clock.now + SOON)]))
    const expires = w.clock.now + SOON
    if (!staysDue(one)) expect(due).toBe(Math.min(until, expires))
    w.clock.pass(SOON)
    if (one.closer.gate !== 'startup-hold')
      expect(await reserve(w)).toMatchObject({ id: 'b', heldBy: gateOfOutcome(one) })
    else {
      expect(await reserve(w), 'the hold goes on').toBeUndefined()
      w.clock.pass(until - w.clock.now)
      expect((await reserve(w))?.id).toBe('b')
    }
  })
})

describe('so does one that is stored while the lane is held', () => {
  test.each(cases.filter(([, { closer }]) => closer.gate !== 'startup-hold'))('%s', async (_, one) => {
    const { w, until } = await refuse(one)
    await w.own.store([another(one.refusal, w.clock.now + SOON)])
    expect(await reserve(w)).toBeUndefined()
    expect(await w.dueOf(one.refusal.lane)).toBe(Math.min(until, w.clock.now + SOON))
    w.clock.pass(SOON)
    expect(await reserve(w)).toMatchObject({ id: 'b', heldBy: gateOfOutcome(one) })
  })
})

test('so does one whose list it leads because the URL before it was cancelled', async () => {
  const closer = CLOSERS.find(({ gate }) => gate === 'paused') as Closer
  const refusal = REFUSALS[0] as Refusal
  const later = (w: World) => w.own.store([another(refusal, w.clock.now + SOON, 'normal')])
  const { w, until, due } = await refuse({ closer, refusal }, later)
  expect(due).toBe(until)
  const list = listOf('normal', CRAWL)
  const entry = (await w.raw.lindex(w.keys.list(list, laneName(site.agent, site.origin)), 0)) as string
  const outcome = outcomeOf('a', { kind: 'refused', reason: 'cancelled' } as object)
  expect(await w.own.cancel({ ...site, list }, [{ entry, outcome }])).toEqual(['cancelled'])
  expect(await w.dueOf(site)).toBe(w.clock.now + SOON)
})

/** Where nobody wakes a lane, it is looked at again within this. */
const LOOKED_AT_WITHIN = 30_000
describe('a gate that is opened before its time', () => {
  test.each(cases.filter(([, { closer }]) => !GATE_TABLE[closer.gate].wakes.startsWith('nobody')))(
    '%s: the lane is woken, and goes on at once',
    async (_, one) => {
      const { w, closed } = await refuse(one)
      await closed.open?.()
      const reserved = await reserve(w)
      expect(reserved?.id).toBe('a')
      // The answer to the robots fetch has brought other rules, by which the request is judged anew.
      const answer = one.closer.gate === 'robots-in-flight' ? { why: 'rules-changed' } : { kind: 'granted' }
      expect(await startAgain(w, one.refusal, reserved?.fence ?? 0)).toMatchObject(answer)
    },
  )
  test.each(cases.filter(([, { closer }]) => GATE_TABLE[closer.gate].wakes.startsWith('nobody')))(
    '%s: nobody wakes the lane',
    async (_, one) => {
      const { w, closed, until } = await refuse(one)
      await closed.open?.()
      expect(await reserve(w)).toBeUndefined()
      if (one.closer.gate !== 'crawl-held') return expect(closed.open, 'nothing opens it').toBeUndefined()
      expect(until - w.clock.now).toBeLessThanOrEqual(LOOKED_AT_WITHIN)
      w.clock.pass(until - w.clock.now)
      return expect((await reserve(w))?.id).toBe('a')
    },
  )
})
