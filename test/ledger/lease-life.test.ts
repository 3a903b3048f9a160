/** The table of a lease's life, cell by cell: each event is tried on a lease in each state, by the real scripts. */
import { readFileSync } from 'node:fs'
import type { Resolution } from '@decorum/ledger'
import { HELD_EVENTS, LEASE_EVENTS, LEASE_KINDS, type LeaseEventName, type LeaseKind } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { LEASES_PAGE, leasesPage } from './leases-page.ts'
import { AGENT, type Bench, emptyLedger, LEASE, ORIGIN, outcomeOf, urls } from './ledger-for-test.ts'

test('docs/leases.md is what the code prints (node test/ledger/leases-page.ts --write)', () => {
  expect(readFileSync(LEASES_PAGE, 'utf8')).toBe(leasesPage())
})

const redis = await redisForTest()
const SITE = { agent: AGENT, origin: ORIGIN }
const HOST = { agent: AGENT, origin: 'https://site.test' }
const GROUP = { agent: AGENT, origin: 'domain://site.test' }

type Held = { agent: string; origin: string; fence: number }
const fenceOf = (answer: { kind: string } | { kind: string; fence: number }): number => {
  if (!('fence' in answer)) throw new Error(`it was not granted: ${JSON.stringify(answer)}`)
  return answer.fence
}

async function leased(bench: Bench, state: 'reserved' | LeaseKind): Promise<Held> {
  const { ledger, reserveOne, startPage } = bench
  switch (state) {
    case 'hop':
      return { ...SITE, fence: fenceOf(await ledger.acquire({ lanes: [SITE], kind: 'hop', delayMs: 0 })) }
    case 'host':
      return { ...HOST, fence: fenceOf(await ledger.acquire({ lanes: [HOST], kind: 'pace-group', delayMs: 0 })) }
    case 'pace-group':
      return { ...GROUP, fence: fenceOf(await ledger.acquire({ lanes: [GROUP], kind: 'pace-group', delayMs: 0 })) }
    case 'permit': {
      const by = { agent: 'one:bot', origin: ORIGIN }
      return { ...SITE, fence: fenceOf(await ledger.grant({ ...SITE, version: 0, delayMs: 0, leaseMs: LEASE, by })) }
    }
    default: {
      await ledger.store(0, urls('a', 'b'))
      const lane = await reserveOne()
      if (state !== 'reserved') expect(await startPage(lane, { kind: state })).toMatchObject({ kind: 'granted' })
      return { ...SITE, fence: lane.fence }
    }
  }
}

const resolved =
  (next: Resolution['next']) =>
  async ({ ledger }: Bench, lane: Held) =>
    (await ledger.resolve(0, [{ ...lane, dropped: [], next }]))[0]
const end = { delayMs: 0, elapsedMs: 0, load: { kind: 'normal' as const } }
/** What the ledger answers: 'stale' where the event may not befall the lease. */
const ACTS: Record<(typeof HELD_EVENTS)[number], (bench: Bench, lane: Held) => Promise<unknown>> = {
  ...Object.fromEntries((['keep', 'pool', 'release', 'unused'] as const).map((kind) => [kind, resolved({ kind })])),
  defer: resolved({ kind: 'defer', until: 4_000_000_000_000, why: 'paused' }),
  start: async ({ startPage }, lane) => {
    const answer = await startPage({ ...lane, urls: [] } as never)
    return answer.kind === 'refused' ? answer.why : answer.kind
  },
  confirm: ({ ledger }, lane) => ledger.confirm([lane]),
  next: async ({ ledger }, lane) =>
    (await ledger.next({ kind: 'further', lane, held: [lane], elapsedMs: 0, delayMs: 0 })).kind,
  extend: async ({ ledger }, lane) => (await ledger.extend([lane], LEASE)).kind,
  done: ({ ledger }, lane) => ledger.complete({ ...lane, ...end, outcome: outcomeOf('#:a') }),
  end: ({ ledger }, lane) => ledger.complete({ ...lane, ...end, load: { kind: 'turned-away' }, secondary: true }),
  again: ({ ledger }, lane) => ledger.complete({ ...lane, ...end }),
  over: ({ ledger }, lane) => ledger.complete({ ...lane, ...end, secondary: true }),
  record: ({ ledger }, lane) => ledger.record({ ...lane, state: {}, delays: [], delayMs: 0, elapsedMs: 0 }),
} as Record<(typeof HELD_EVENTS)[number], (bench: Bench, lane: Held) => Promise<unknown>>

const mayBefall = (event: LeaseEventName, state: 'reserved' | LeaseKind): boolean => {
  const { from } = LEASE_EVENTS[event]
  return state === 'reserved' ? from.reserved === true : (from.started ?? []).includes(state)
}
const STATES = ['reserved', ...LEASE_KINDS] as const

test.each(HELD_EVENTS.flatMap((event) => STATES.map((state) => [event, state] as const)))(
  "'%s' befalls a lease that is %s where the table says so, and only by its fence",
  async (event, state) => {
    const bench = await emptyLedger(redis)
    const lane = await leased(bench, state)
    const another = { ...lane, fence: lane.fence + 1 }
    expect(await ACTS[event](bench, another), 'another fence').toBe('stale')
    if (mayBefall(event, state)) expect(await ACTS[event](bench, lane)).not.toBe('stale')
    else expect(await ACTS[event](bench, lane)).toBe('stale')
  },
)

test.each(HELD_EVENTS.filter((event) => event !== 'keep' && event !== 'pool' && event !== 'start'))(
  "'%s' befalls a lease whose time is over, and that nobody has reaped, unless the table says no",
  async (event) => {
    const bench = await emptyLedger(redis)
    const started = LEASE_EVENTS[event].from.started?.[0]
    if (started === undefined) return
    const lane = await leased(bench, started)
    bench.clock.pass(LEASE + 1)
    if (LEASE_EVENTS[event].whileItLasts) expect(await ACTS[event](bench, lane)).toBe('stale')
    else expect(await ACTS[event](bench, lane)).not.toBe('stale')
  },
)
