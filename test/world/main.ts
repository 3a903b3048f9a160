/**
 * `npm run world`: runs of the world, of one seed after another, for so long. Prints requests, faults, what was reached and violations, and for a run that broke a
 * promise the line that plays it again, made short.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findRedis, spawnRedis } from '@decorum/cli/local-redis/testing'
import { Redis } from 'ioredis'
import { MUTANTS } from '../ledger/model/mutants.ts'
import { ALL_CELLS, ALL_POINTS, Coverage } from './coverage.ts'
import { FAULTS } from './faults.ts'
import { GROUPED, type Grouped } from './grouped.ts'
import { OPERATIONS } from './operators.ts'
import { BUSY } from './pace.ts'
import { LISTS, lineOf, NUMBERS, shrink } from './shrink.ts'
import { unreachedOf } from './unreached.ts'
import { brokenBy, type Planted, runWorld, type WorldOptions, type WorldReport } from './world.ts'

const USAGE = `npm run world -- [--hours N | --runs N] [--seed S] [--plant NAME] [options of a run]
  --hours N      goes on for so long, and fails at its end when something was never reached;
                 without it and without --runs: one run
  --seed S       of the first run; the next one has the next number
  --plant NAME   with a fault of test/ledger/model/mutants.ts in the scripts, or 'no supervisor'
  --whole        a run that breaks a promise is not made short
  --trace        prints each event
Options of a run, as the line that plays a run again has them:
  ${Object.values(NUMBERS).join(' N ')} N
  ${Object.values(LISTS).join(' NAME,NAME,… ')} NAME,NAME,…
                 which faults fall, and of which manners sites are
  --grouped ${GROUPED.join(' | ')}
                 which hosts share a pace
  --only N,N,…   of its faults only those with these numbers fall; '' none`

const { values } = parseArgs({
  options: {
    hours: { type: 'string' },
    runs: { type: 'string' },
    seed: { type: 'string' },
    plant: { type: 'string' },
    only: { type: 'string' },
    grouped: { type: 'string' },
    whole: { type: 'boolean' },
    trace: { type: 'boolean' },
    help: { type: 'boolean' },
    ...Object.fromEntries(
      Object.values({ ...NUMBERS, ...LISTS }).map((name) => [name.slice(2), { type: 'string' as const }]),
    ),
  },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}

function plantedBy(name: string | undefined): Planted | undefined {
  if (name === undefined) return undefined
  if (name === 'no supervisor') return { kind: 'no supervisor' }
  const mutant = MUTANTS.find((one) => one.name === name || one.rule === name)
  if (mutant === undefined) throw new Error(`no mutant is called '${name}'`)
  return { kind: 'script', rule: mutant.rule, put: mutant.put }
}

const given = values as Record<string, string | boolean | undefined>
const wanted: Omit<WorldOptions, 'seed'> = {
  ...Object.fromEntries(
    Object.entries({ ...NUMBERS, ...LISTS }).flatMap(([option, name]) => {
      const text = given[name.slice(2)]
      return text === undefined ? [] : [[option, option in NUMBERS ? Number(text) : String(text).split(',')]]
    }),
  ),
  ...(values.only === undefined ? {} : { only: values.only.split(',').filter(Boolean).map(Number) }),
  ...(values.grouped === undefined ? {} : { grouped: values.grouped as Grouped }),
  ...(values.trace ? { onEvent: (line: string) => void process.stdout.write(line) } : {}),
}

/** Gates close at these sites while requests are made. */
const SLOW = [
  'connects slowly',
  'takes its time now and then',
  'its robots.txt is elsewhere',
  'asks for less now and then',
]

/** Sites are odd, and more goes wrong in less time. */
const ODD: Partial<WorldOptions> = { sites: 24, plain: 0.1, busySeconds: 40, faultEveryMs: 600 }
/** Every second world is small, and of one of these shapes: gates close there that hardly ever do in a large one. */
const SMALL: readonly Partial<WorldOptions>[] = [
  ODD,
  // operators close gates of sites that are slow
  {
    sites: 24,
    plain: 0,
    busySeconds: 40,
    faultEveryMs: 300,
    kinds: OPERATIONS,
    manners: [...SLOW, 'its robots.txt is slow'],
  },
  ODD,
  // gates close between two steps of a request: few slots, so that orders wait, and as many requests of others, whose leases are extended
  {
    ...{ sites: 12, plain: 0, busySeconds: 50, faultEveryMs: 700, manners: [...SLOW, 'slow'] },
    kinds: ['policy', 'policy', 'refetch', 'refetch', 'block', 'pause', 'stop', 'crawl'],
    ...{ fetchers: 2, slots: 2, crawlers: 6, workers: 8, poolEvery: 3 },
  },
]
const shapeOf = (seed: number): Partial<WorldOptions> =>
  seed % 2 === 0 ? {} : (SMALL[((seed - 1) / 2) % SMALL.length] ?? {})

const dir = await mkdtemp(join(tmpdir(), 'decorum-world-'))
const binary = await findRedis((line) => console.log(line))
// A command by a socket of files costs the world a third less than one by TCP.
const path = join(dir, 'redis.sock')
const server = await spawnRedis(binary, { dir, appendonly: false, more: { unixsocket: path } })
const real = new Redis({ path, retryStrategy: null })
real.on('error', (error) => console.error(`the world has lost its Redis: ${error.message}`))
try {
  process.exitCode = await runs(real, plantedBy(values.plant))
} finally {
  real.disconnect()
  server.child.kill('SIGTERM')
  await server.exited
  await rm(dir, { recursive: true, force: true })
}

async function redisCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu')
  const field = (name: string): number => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0)
  return field('used_cpu_user') + field('used_cpu_sys')
}

function a(count: number, seconds: number): string {
  return (count / seconds).toFixed(count / seconds < 10 ? 1 : 0)
}

function cpuSince(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}

function sentenceOf({ seed, requests, faults, virtualMs, pace, violations, hash }: WorldReport, cpu: number): string {
  return (
    `seed ${seed}: ${requests} requests (${a(requests, cpu)} a second of CPU), ${faults.length} faults (${a(faults.length, cpu)}), ` +
    `${Math.round(virtualMs / 1_000)} s of virtual time, ` +
    `${pace.busy} of ${pace.hosts} hosts at ${BUSY * 100} % of their permitted rate or more (${Math.round(pace.share * 100)} % of all), ` +
    `${violations.length} violations, ${hash.slice(0, 12)}`
  )
}

/** @returns 1 when a promise was broken, or something was never reached in hours */
async function runs(redis: Redis, planted: Planted | undefined): Promise<number> {
  const first = Number(values.seed ?? Date.now() % 1_000_000)
  const most = Number(values.runs ?? (values.hours === undefined ? 1 : Number.POSITIVE_INFINITY))
  const until = Date.now() + Number(values.hours ?? Number.POSITIVE_INFINITY) * 3_600_000
  const sums = { runs: 0, requests: 0, faults: 0, virtualMs: 0, broken: 0, hosts: 0, busy: 0 }
  const byFault = new Map<string, number>(FAULTS.map((kind) => [kind, 0]))
  const reached = new Coverage()
  const began = process.cpuUsage()
  const ofRedis = await redisCpu(redis)
  let isStopped = false // the run that is under way ends, and what was seen so far is printed
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => (isStopped = true))
  for (let n = 0; n < most && Date.now() < until && !isStopped; n++) {
    const options = { ...shapeOf(first + n), ...wanted, seed: first + n, ...(planted && { planted }) }
    const before = process.cpuUsage()
    const report = await runWorld(redis, options)
    const used = cpuSince(before)
    sums.runs++
    sums.requests += report.requests
    sums.virtualMs += report.virtualMs
    sums.faults += report.faults.length
    sums.hosts += report.pace.hosts
    sums.busy += report.pace.busy
    for (const { kind } of report.faults) byFault.set(kind, (byFault.get(kind) ?? 0) + 1)
    const isNew = (of: 'cells' | 'points') => [...report.coverage[of]].filter((name) => !reached[of].has(name))
    const fresh = [...isNew('cells'), ...isNew('points')].toSorted()
    reached.add(report.coverage)
    const broken = brokenBy(report)
    console.log(sentenceOf(report, used))
    if (fresh.length > 0) console.log(`  reached first: ${fresh.join(', ')}`)
    if (broken.length === 0) continue
    sums.broken++
    for (const line of broken) console.log(line)
    if (values.whole) console.log(`  again: ${lineOf(options, values.plant)}`)
    else await shrink(options, report, (short) => runWorld(redis, short), values.plant)
  }
  const cpu = cpuSince(began)
  const both = cpu + (await redisCpu(redis)) - ofRedis
  const faults = [...byFault].map(([kind, times]) => `${kind} ${times}`).join(', ')
  console.log(
    `${sums.runs} runs from seed ${first}: ${sums.requests} requests, ${sums.faults} faults (${faults}), ` +
      `${(sums.virtualMs / 3_600_000).toFixed(1)} h of virtual time in ${cpu.toFixed(0)} s of CPU, ${both.toFixed(0)} s with that of Redis: ` +
      `${a(sums.requests, cpu)} requests and ${a(sums.faults, cpu)} faults a second, ${a(sums.requests, both)} and ${a(sums.faults, both)} with Redis; ` +
      `${a(sums.busy, sums.runs)} of ${a(sums.hosts, sums.runs)} hosts of a run at ${BUSY * 100} % of their rate; ${sums.broken} runs broke a promise`,
  )
  const missing = unreachedOf(reached)
  console.log(
    `reached: ${reached.cells.size} of ${ALL_CELLS.length} cells of the table of gates, ${reached.points.size} of ${ALL_POINTS.length} crash points`,
  )
  for (const line of missing) console.log(`  never reached: ${line}`)
  return sums.broken > 0 || (values.hours !== undefined && missing.length > 0) ? 1 : 0
}
