/** Every crash point: a process stands still there for longer than its lease, another dies there; no site and no frontier notices. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CRASH_POINTS, type CrashPoint } from '@decorum/runtime'
import { afterAll, expect, test } from 'vitest'
import { splitAgainAsked } from '../storm/again-asked.ts'
import { watchStalls } from '../storm/stalls.ts'
import { type Deed, type Role, sweep } from '../storm/sweep.ts'
import { redisForTest } from '../support/redis.ts'

const first = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)
const only = process.env.DECORUM_POINT
const folder = await mkdtemp(join(tmpdir(), 'decorum-crash-points-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
const servers = { gateway: await redisForTest(), fetcher: await redisForTest() }
const stalls = watchStalls(folder, servers.fetcher.url)
afterAll(() => void stalls.end(0))
/** Each victim has dice of its own, and so other moments; DECORUM_SEEDS=3 kills three times at each point. */
const count = Number(process.env.DECORUM_SEEDS ?? 1)
const seeds = Array.from({ length: count }, (_, n) => first + n)

// Side by side with one another: two fleets at a time are enough for a small machine.
test.concurrent.each(['gateway', 'fetcher'] as Role[])(
  'a %s frozen or killed at each of its crash points: no violation, no URL lost or doubled, one extra request at most',
  async (role) => {
    const points = CRASH_POINTS[role].filter((point) => only === undefined || point === only)
    if (points.length > 0) await judged(role, points)
  },
)

async function judged(role: Role, points: readonly CrashPoint[]): Promise<void> {
  const began = performance.now()
  const result = await sweep({ role, points, seeds, redisUrl: servers[role].url, stalls })
  const { runs, accepted, outcomes, report, extra, outlasted, hurtFetchers, requests, troubles } = result
  const { violations, againAsked } = splitAgainAsked(report)
  const passed = (deed: Deed): number => runs.filter((run) => run.deed === deed && run.passed).length
  console.log(
    `${role}: ${passed('freeze')} frozen, ${passed('kill')} killed, seeds ${seeds.join(', ')} (again: DECORUM_SEED=${first}); ` +
      `${requests} requests, ${outcomes.size} outcomes, ${extra.length + againAsked.length} extra requests of ` +
      `${hurtFetchers} fetchers, ${outlasted.length} of leases that a busy machine let run out; ${Math.round((performance.now() - began) / 1_000)} s`,
  )
  if (process.env.DECORUM_TRACE) console.table(runs)
  const missed = runs.filter(({ passed }) => !passed)
  expect(missed, 'points that were never passed').toEqual([])
  for (const deed of ['freeze', 'kill'] as const)
    expect(new Set(runs.filter((run) => run.deed === deed).map(({ point }) => point)), deed).toEqual(new Set(points))
  expect(violations, 'violations that the sites recorded').toEqual([])
  const missing = [...accepted].filter((id) => !outcomes.has(id))
  expect(missing, `candidates without an outcome; ${troubles.join('; ')}`).toEqual([])
  const several = [...outcomes.values()].filter((list) => list.length !== 1)
  expect(several, 'candidates with more than one outcome').toEqual([])
  const unknown = [...outcomes.keys()].filter((id) => !accepted.has(id))
  expect(unknown, 'outcomes that nobody asked for').toEqual([])
  // Each fetcher had one slot, so one request at most was under way.
  expect(extra.length + againAsked.length, 'extra requests').toBeLessThanOrEqual(hurtFetchers)
}
