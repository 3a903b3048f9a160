/** Every crash point, three seeds each: a process dies there, and no site and no frontier notices. */
import { CRASH_POINTS } from '@decorum/service'
import { expect, test } from 'vitest'
import { type Role, sweep } from '../storm/sweep.ts'
import { redisForTest } from '../support/redis.ts'

const first = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)
const seeds = process.env.DECORUM_SEED === undefined ? [first, first + 1, first + 2] : [first]
const only = process.env.DECORUM_POINT
const servers = { gateway: await redisForTest(), fetcher: await redisForTest() }

test.concurrent.each(['gateway', 'fetcher'] as Role[])(
  'a %s killed at each of its crash points: no violation, no URL lost or doubled, one extra request at most',
  { timeout: 480_000 },
  async (role) => {
    const points = CRASH_POINTS[role].filter((point) => only === undefined || point === only)
    if (points.length === 0) return
    const result = await sweep({ role, points, seeds, redisUrl: servers[role].url })
    const { runs, accepted, outcomes, report, extra, killedFetchers, requests, troubles } = result
    console.log(
      `${role}: ${runs.length} runs, seeds ${seeds.join(', ')} (again: DECORUM_SEED=${first}); ${requests} requests, ` +
        `${outcomes.size} outcomes, ${extra.length + report.violations['robots-too-often']} extra requests after ${killedFetchers} dead fetchers`,
    )
    if (process.env.DECORUM_TRACE) console.table(runs)
    expect(
      runs.filter(({ how }) => how !== 'SIGKILL'),
      'points that were never passed',
    ).toEqual([])
    // A robots.txt whose asker died before it could tell is asked for once more: an extra request like any other.
    const againAsked = report.examples.filter(({ offence }) => offence === 'robots-too-often')
    const violations = report.examples.filter(({ offence }) => offence !== 'robots-too-often')
    expect(violations, 'violations that the sites recorded').toEqual([])
    const missing = [...accepted].filter((id) => !outcomes.has(id))
    expect(missing, `candidates without an outcome; ${troubles.join('; ')}`).toEqual([])
    const several = [...outcomes.values()].filter((list) => list.length !== 1)
    expect(several, 'candidates with more than one outcome').toEqual([])
    const unknown = [...outcomes.keys()].filter((id) => !accepted.has(id))
    expect(unknown, 'outcomes that nobody asked for').toEqual([])
    // Each fetcher had one slot, so one request at most was under way when it died.
    expect(extra.length + againAsked.length, 'extra requests').toBeLessThanOrEqual(killedFetchers)
  },
)
