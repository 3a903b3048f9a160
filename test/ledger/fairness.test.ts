/** Lanes of one host take turns: each has its share, however often it asks, and no turn is idle. */
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, outcomeOf, url } from './ledger-for-test.ts'

const redis = await redisForTest()
const DELAY = 500
const AHEAD_MS = 15
const TICK_MS = 5
const AGENT = 'bot'
const PACE_LANE = { agent: AGENT, origin: 'https://site.test' }

/**
 * A fleet in virtual time: whoever is due is begun at once, in the order in which the ledger hands lanes out, and each
 * exchange takes `tookMs`. @returns how often each origin was visited, and how long all of it took
 */
async function crawl(origins: string[], visits: number, tookMs: number, comesLate = (): boolean => false) {
  const { ledger, clock, raw, reserve } = await emptyLedger(redis, { reserveMs: 1_000_000 })
  const pending = origins.flatMap((origin, o) =>
    Array.from({ length: visits }, (_, n) => url(`${o}-${n}`, { agent: AGENT, origin })),
  )
  for (let at = 0; at < pending.length; at += 100) await ledger.store(0, pending.slice(at, at + 100))
  const counts = new Map(origins.map((origin) => [origin, 0]))
  const from = clock.now
  for (let made = 0; ;) {
    for (const lane of await reserve({ aheadMs: AHEAD_MS })) {
      const { origin, fence, urls } = lane
      if (comesLate()) {
        await ledger.resolve(0, [
          { ...lane, dropped: [], next: { kind: 'defer', until: clock.now + 40, why: 'lane-busy' } },
        ])
        continue
      }
      const ofHost = origin !== PACE_LANE.origin
      const order = { agent: AGENT, origin, fence, kind: 'page' as const, version: 0, delayMs: DELAY }
      let permit = await ledger.start(ofHost ? { ...order, paceLane: PACE_LANE } : order)
      for (; permit.kind === 'early'; permit = await ledger.start(ofHost ? { ...order, paceLane: PACE_LANE } : order))
        clock.pass(permit.waitMs)
      if (permit.kind !== 'granted') continue
      clock.pass(tookMs)
      const end = { delayMs: DELAY, elapsedMs: 0, load: { kind: 'normal' as const } }
      await ledger.complete({ agent: AGENT, origin, fence, ...end, outcome: outcomeOf(urls[0]?.id ?? '') })
      if (permit.paceLane !== undefined)
        await ledger.complete({ ...PACE_LANE, fence: permit.paceLane.fence, ...end, secondary: true })
      counts.set(origin, (counts.get(origin) ?? 0) + 1)
      made++
    }
    if (made >= visits) break
    // By steps of TICK_MS, but for those at which no lane is due: Redis would be asked in vain a hundred times for each visit.
    const [, next] = await raw.zrange(keys.due, '0', '0', 'WITHSCORES')
    const idle = Math.ceil((Number(next ?? 0) - AHEAD_MS - clock.now) / TICK_MS)
    clock.pass(Math.max(1, idle) * TICK_MS)
  }
  return { counts: [...counts.values()], ms: clock.now - from }
}

const ports = (n: number): string[] => Array.from({ length: n }, (_, p) => `http://site.test:${8_000 + p}`)

test.each([
  ['https: and three ports', [PACE_LANE.origin, ...ports(3)], 5],
  ['three ports alone', ports(3), 5],
  ['https: and http:', [PACE_LANE.origin, 'http://site.test'], 5],
  ['https: and three ports, slow answers', [PACE_LANE.origin, ...ports(3)], 1_300],
  ['https: and eleven ports', [PACE_LANE.origin, ...ports(11)], 5],
])('%s: each has an even share, within a tenth, and the host is never idle', async (_, origins, tookMs) => {
  const visits = 20 * origins.length
  const { counts, ms } = await crawl(origins, visits, tookMs)
  const even = visits / origins.length
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(even * 0.9)
  expect(Math.max(...counts)).toBeLessThanOrEqual(even * 1.1 + 1)
  expect(ms, 'one exchange and one silence after another').toBeLessThan(visits * (DELAY + tookMs + 12))
})

test('lanes that come late now and then lose a turn, not their share', async () => {
  let n = 0
  const { counts } = await crawl([PACE_LANE.origin, ...ports(3)], 200, 5, () => n++ % 7 === 3)
  expect(Math.min(...counts), String(counts)).toBeGreaterThanOrEqual(35)
})

test('forty-five ports of a paused host come one after the other when it is resumed: who waits for a gate has no place in line', async () => {
  const { ledger, clock, raw, reserve } = await emptyLedger(redis)
  const origins = ports(45)
  const by = { by: 'test', reason: '' }
  const first = origins[0] as string
  await ledger.operate({ origin: first, action: 'pause', until: clock.now + 3_600_000, ...by }, [AGENT])
  await ledger.store(
    0,
    origins.map((origin, n) => url(`${n}`, { agent: AGENT, origin })),
  )
  const start = async () => {
    const orders = (await reserve()).map(({ origin, fence }) =>
      ledger.start({
        ...{ agent: AGENT, origin, fence, kind: 'page', version: 0, delayMs: DELAY, paceLane: PACE_LANE },
      }),
    )
    return (await Promise.all(orders)).map((answer) => (answer.kind === 'refused' ? answer.why : answer.kind))
  }
  expect(await start()).toEqual(origins.slice(1).map(() => 'paused'))
  clock.pass(10_000)
  expect(await reserve()).toEqual([])
  await ledger.operate({ origin: first, action: 'resume', ...by }, [AGENT])
  expect(await start()).toEqual(['granted', ...origins.slice(1).map(() => 'pace-group')])
  const latest = Number((await raw.zrange(keys.due, '-1', '-1', 'WITHSCORES'))[1])
  expect(latest).toBeLessThan(clock.now + (origins.length + 1) * DELAY)
})
