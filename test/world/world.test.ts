/** A fleet in virtual time, from seeds that are always the same, or from that of `DECORUM_SEED`; `npm run world` draws others. */
import { expect, test } from 'vitest'
import { FEWER, SEED, SMALL, worldsForTest } from './in-test.ts'
import { allUpTo } from './shrink.ts'
import { brokenBy } from './world.ts'

const { run } = await worldsForTest()
const elsewhere = await worldsForTest()
const SEEDS = process.env.DECORUM_SEED === undefined ? [750_391, 750_392] : [SEED, SEED + 1]

test('a fleet without faults visits every site politely at the rate that it may have, and every URL has its outcome', async () => {
  const report = await run({ seed: SEED, sites: 40, busySeconds: 30, faultEveryMs: 0, permits: 0, proxies: 0 })
  expect(brokenBy(report)).toEqual([])
  expect(report.requests).toBeGreaterThan(750)
  expect(report.pace.hosts - report.pace.busy).toBeLessThanOrEqual(2)
})

test('with faults between any two events, operators, and crawlers of others, too; another seed is another run', async () => {
  const hashes = new Set<string>()
  for (const seed of SEEDS) {
    const report = await run({ seed, sites: 16, busySeconds: 25, faultEveryMs: 1_000 })
    expect(brokenBy(report)).toEqual([])
    expect(report.faults.length).toBeGreaterThan(10)
    hashes.add(report.hash)
  }
  expect(hashes.size).toBe(SEEDS.length)
})

test('what a Redis chooses by chance, the world chooses by its seed: on another server the run is the same', async () => {
  const kinds = ['cancel', 'crawl', 'partitions'] as const
  const options = { ...FEWER, sites: 100, busySeconds: 10, kinds, faultEveryMs: 500, seed: SEED }
  const report = await run(options)
  expect(new Set(report.faults.map(({ kind }) => kind))).toEqual(new Set(kinds))
  expect((await elsewhere.run(options)).hash).toBe(report.hash)
})

test('the same faults of a seed are the same run, and some of them can be played alone', async () => {
  const options = { seed: SEED, ...SMALL, busySeconds: 10, faultEveryMs: 500 }
  const whole = await run(options)
  expect((await run({ ...options, only: allUpTo(whole) })).hash).toBe(whole.hash)
  const first = await run({ ...options, only: [whole.faults[0]?.number ?? 0] })
  expect(first.faults.length).toBeLessThanOrEqual(1)
})
