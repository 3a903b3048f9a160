/** A fleet in virtual time, from seeds that are always the same, or from that of `DECORUM_SEED`; `npm run world` draws others. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { allUpTo, lineOf, shrink } from './shrink.ts'
import { brokenBy, runWorld, type WorldOptions, type WorldReport } from './world.ts'

const server = await redisForTest()
const SEED = Number(process.env.DECORUM_SEED ?? 98_239)
const SEEDS = process.env.DECORUM_SEED === undefined ? [750_391, 750_392] : [SEED, SEED + 1]
const SMALL = { sites: 12, busySeconds: 20, fetchers: 3 }
/** Without crawlers of others and with one partition: a run takes a second. */
const FEWER = { permits: 0, proxies: 0, partitions: 1, slots: 60, grouped: 'hosts' } as const

function redis(): Redis {
  const real = new Redis(server.url)
  onTestFinished(() => real.disconnect())
  return real
}

async function run(options: WorldOptions): Promise<WorldReport> {
  const began = process.cpuUsage()
  const report = await runWorld(redis(), options)
  const { user, system } = process.cpuUsage(began)
  console.log(
    `${lineOf(options)}: ${report.requests} requests, ${report.faults.length} faults, ${report.events} events, ` +
      `${Math.round(report.virtualMs / 1_000)} s of virtual time in ${((user + system) / 1e6).toFixed(1)} s of CPU, ` +
      `${report.pace.busy} of ${report.pace.hosts} hosts busy`,
  )
  return report
}

test('a fleet without faults visits every site politely at the rate that it may have, and every URL has its outcome', async () => {
  const report = await run({ seed: SEED, sites: 60, busySeconds: 40, faultEveryMs: 0, permits: 0, proxies: 0 })
  expect(brokenBy(report)).toEqual([])
  expect(report.requests).toBeGreaterThan(1_500)
  expect(report.pace.hosts - report.pace.busy).toBeLessThanOrEqual(2)
})

test('with faults between any two events, operators, and crawlers of others, too; another seed is another run', async () => {
  const hashes = new Set<string>()
  for (const seed of SEEDS) {
    const report = await run({ seed, sites: 20, busySeconds: 30, faultEveryMs: 1_000 })
    expect(brokenBy(report)).toEqual([])
    expect(report.faults.length).toBeGreaterThan(10)
    hashes.add(report.hash)
  }
  expect(hashes.size).toBe(SEEDS.length)
})

test('the same faults of a seed are the same run, and some of them can be played alone', async () => {
  const options = { seed: SEED, ...SMALL, faultEveryMs: 500 }
  const whole = await run(options)
  expect((await run({ ...options, only: allUpTo(whole) })).hash).toBe(whole.hash)
  const first = await run({ ...options, busySeconds: 5, only: [whole.faults[0]?.number ?? 0] })
  expect(first.faults.length).toBeLessThanOrEqual(1)
})

test.each<[string, Omit<WorldOptions, 'seed'>, RegExp]>([
  [
    'delays begin when the request does',
    { ...SMALL, ...FEWER, planted: { kind: 'script', rule: 'the-delay-counts-from-the-end', put: 'startedAt + owed' } },
    /short-delay/,
  ],
  [
    'nobody kills a fetcher that stands still',
    {
      ...FEWER,
      sites: 40,
      plain: 0.2,
      busySeconds: 40,
      planted: { kind: 'no supervisor' },
      kinds: ['freeze'],
      faultEveryMs: 1_000,
    },
    /overlap/,
  ],
])('a fault that is put in is found: %s', async (_, options, offence) => {
  const found: string[] = []
  for (let seed = SEED; seed < SEED + 5 && found.length === 0; seed++)
    found.push(...brokenBy(await run({ seed, ...options })))
  expect(found.join('\n')).toMatch(offence)
})

test('a run that breaks a promise is made short, and the line that is printed plays the short one again', async () => {
  const planted = { kind: 'script', rule: 'the-delay-counts-from-the-end', put: 'startedAt + owed' } as const
  const options: WorldOptions = { seed: SEED, ...SMALL, ...FEWER, faultEveryMs: 1_000, planted }
  const whole = await run(options)
  const said: string[] = []
  const short = await shrink(
    options,
    whole,
    (tried) => runWorld(redis(), tried),
    'x',
    (line) => said.push(line),
  )
  expect(said.at(-1)).toContain(lineOf(short, 'x'))
  const again = await run(short)
  expect(brokenBy(again).join('\n')).toMatch(/short-delay/)
  expect(again.requests).toBeLessThan(whole.requests)
  expect(again.faults).toEqual([]) // the fault that was put in needs none
})
