/**
 * A ledger with something in every key of its layout, filled through its own verbs: what a fleet leaves behind that stopped in the
 * middle of its work. Time is virtual, so the same steps give the same values. The fixture of a released layout was made by these
 * steps with the code of that release.
 */
import type { LaneRef, ReservedLane } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import type { Outcome } from '@decorum/protocol'

export const START = 1_800_000_000_000
const LENGTHS = { partitions: 1, leaseMs: 45_000, quarantineMs: 10_000, reserveMs: 30_000 }

export const lane = (host: string, agent = 'bot'): LaneRef => ({ agent, origin: `http://${host}.test` })
const url = (at: LaneRef, id: string, more: object = {}) => ({
  lane: at,
  pending: { id, path: `/${id}`, expiresAt: 4_000_000_000_000, hops: 0, priority: 'normal' as const, ...more },
})
const outcome = (at: LaneRef, id: string): Outcome => ({
  id,
  url: `${at.origin}/${id}`,
  agent: at.agent,
  kind: 'failed',
  reason: 'connect',
  detail: '',
  at: 1,
  attempts: 1,
})
const body = { hash: '0123456789abcdef0123456789abcdef', bytes: Buffer.from('User-agent: *\nCrawl-delay: 3\n') }
const state = {
  answer: { kind: 'ok' as const, status: 200, at: START, jitter: 0.5 },
  copy: { kind: 'ok' as const, hash: body.hash, at: START },
  heard: { ok: { at: START, since: 0 } },
  first: { at: START, count: 1 },
}

/** Back-off is lengthened by chance, and lives are by the real clock. All else is the same each time. */
export async function fill(redis: string): Promise<LedgerWithViews> {
  let now = START
  const ledger = await openLedgerWithViews({ redis, ...LENGTHS, nowMs: () => now, callDeadlineMs: 300_000 })
  now += 2_000
  const reserve = async (at: LaneRef): Promise<ReservedLane> => {
    const found = await ledger.reserve(0, { limit: 100, aheadMs: 0, inFlightLimit: 10_000, peek: 1 })
    const mine =
      found.kind === 'reserved'
        ? found.lanes.filter(({ origin, agent }) => origin === at.origin && agent === at.agent)
        : []
    if (mine[0] === undefined) throw new Error(`${at.origin} is not due`)
    return mine[0]
  }
  const start = async (at: LaneRef, kind: 'page' | 'robots' = 'page') => {
    const { fence, robots } = await reserve(at)
    const answer = await ledger.start({ ...at, fence, kind, version: robots.version, delayMs: 1_000 })
    if (answer.kind !== 'granted') throw new Error(`${at.origin}: ${JSON.stringify(answer)}`)
    return { ...at, fence }
  }
  const finished = { delayMs: 1_000, elapsedMs: 0, load: { kind: 'normal' } } as const

  const ruled = lane('ruled')
  await ledger.store(0, [url(ruled, 'ruled-1'), url(ruled, 'ruled-2', { priority: 'high', meta: { depth: 1 } })])
  const asking = await start(ruled, 'robots')
  const delays = [{ agent: 'bot', delayMs: 10_000, clampedFrom: 30 }]
  await ledger.record({ ...asking, state, body, delays, delayMs: 10_000, elapsedMs: 0 })

  const visited = lane('visited')
  await ledger.store(0, [url(visited, 'visited-1')])
  const candidate = { url: 'http://target.test/', id: 'visited~1~a', hops: 1 }
  await ledger.complete({
    ...(await start(visited)),
    ...finished,
    delayMs: 600_000,
    outcome: outcome(visited, 'visited-1'),
    candidate,
  })

  const slowed = lane('slowed')
  await ledger.store(0, [url(slowed, 'slowed-1'), url(slowed, 'slowed-2')])
  await ledger.complete({
    ...(await start(slowed)),
    ...finished,
    load: { kind: 'asked-for-less', retryAfterMs: 300_000 },
  })
  const failing = lane('failing')
  await ledger.store(0, [url(failing, 'failing-1')])
  await ledger.complete({ ...(await start(failing)), ...finished, delayMs: 600_000, load: { kind: 'no-answer' } })

  const by = { by: 'operator', reason: 'a reason' }
  const acted = lane('acted')
  await ledger.store(0, [url(acted, 'acted-1')])
  await ledger.operate({ origin: acted.origin, ...by, action: 'pause', until: START + 600_000 }, ['bot'])
  await ledger.operate({ origin: lane('blocked').origin, ...by, action: 'block', until: START + 700_000 }, ['bot'])
  await ledger.operate(
    { origin: ruled.origin, ...by, action: 'delay', delayMs: 20_000, until: START + 40 * 86_400_000 },
    ['bot'],
  )
  await ledger.operate({ origin: lane('again').origin, ...by, action: 'refetch' }, ['bot'])

  // From here on nothing is due that would be reserved by accident.
  now = START + 58_000
  const held = lane('held')
  await ledger.store(0, [url(held, 'held-1')])
  const { fence: heldFence } = await reserve(held)
  const until = START + 500_000
  await ledger.resolve(0, [
    { ...held, fence: heldFence, dropped: [], next: { kind: 'defer', until, why: 'robots-unreachable' } },
  ])

  const pace = lane('pace')
  await ledger.acquire({ lanes: [pace], kind: 'pace-group', delayMs: 2_000, by: lane('first') })
  await ledger.store(0, [url(pace, 'pace-1')])
  await ledger.acquire({ lanes: [pace], kind: 'pace-group', delayMs: 2_000, by: lane('second') })
  await ledger.acquire({ lanes: [lane('hop')], kind: 'hop', delayMs: 2_000, isRobots: true, by: lane('first') })

  const robots = lane('robots')
  await ledger.store(0, [url(robots, 'robots-1'), url(lane('robots', 'other'), 'robots-2')])
  await start(robots, 'robots') // reserves the lane of the other agent, too
  const started = lane('started')
  await ledger.store(0, [url(started, 'started-1'), url(started, 'started-2')])
  now += 31_000 // the reservations of before end
  await ledger.reap(0)
  const all = await ledger.reserve(0, { limit: 100, aheadMs: 0, inFlightLimit: 10_000, peek: 1 })
  const fenceOf = ({ agent, origin }: LaneRef): number => {
    const found =
      all.kind === 'reserved' ? all.lanes.find((one) => one.origin === origin && one.agent === agent) : undefined
    if (found === undefined) throw new Error(`${agent} ${origin} is not due`)
    return found.fence
  }
  await ledger.start({ ...started, fence: fenceOf(started), kind: 'page', version: 0, delayMs: 1_000 })
  const waiting = lane('robots', 'other')
  const next = { kind: 'defer', until, why: 'robots-in-flight' } as const
  await ledger.resolve(0, [{ ...waiting, fence: fenceOf(waiting), dropped: [], next }])
  await ledger.store(0, [url(lane('reserved'), 'reserved-1')])
  await reserve(lane('reserved'))
  await ledger.store(0, [url(lane('pending'), 'pending-1'), url(lane('pending'), 'pending-2')], { key: 'job:1' })
  const stale = { ...lane('reserved'), fence: 1 }
  await ledger.start({ ...stale, kind: 'page', version: 0, delayMs: 1_000 })
  await ledger.complete({ ...stale, ...finished })
  await ledger.record({ ...stale, state, delays: [], delayMs: 1_000, elapsedMs: 0 })
  await ledger.announce({ id: 'one', role: 'gateway', slots: 0 })
  return ledger
}
