/**
 * The adapters of integrations/, each as its README has it: 300 URLs of 20 hosts, one second owed after each answer. How close to the time
 * that the hosts permit is the whole crawl, and each lane? The hosts' record is judged as well. `--seeds 3`: so many rounds.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { agentsOf, judgeRecord, readLogs } from '@decorum/audit'
import { startFleet } from '@decorum/cli'
import { spawnWeb } from '@decorum/cli/synthetic-web'
import { programOf } from '../test/support/programs.ts'
import { median, round, spread, table } from './frame/figures.ts'
import { fleetEnv } from './frame/fleet-env.ts'
import type { BenchOptions, BenchSection } from './frame/one.ts'
import { timesOf } from './frame/pace.ts'
import { benchRedis } from './frame/redis.ts'
import { findPeer } from './peers/install.ts'
import { PEERS } from './peers/table.ts'

const run_ = promisify(execFile)
const FOLDER = join(import.meta.dirname, 'adapters')
const INTEGRATIONS = join(import.meta.dirname, '../integrations')
const AGENT = { name: 'peerbot', userAgent: 'peerbot/1 (+https://example.com/bot)' }

type Adapter = { name: string; command: string[] | string }

function adapters(): Adapter[] {
  const scrapy = PEERS.find(({ key }) => key === 'scrapy')
  const found = scrapy === undefined ? 'it is no peer' : findPeer(scrapy)
  const python = programOf('python3')
  return [
    { name: 'undici', command: [process.execPath, join(FOLDER, 'undici.mjs')] },
    { name: 'Crawlee', command: [process.execPath, join(FOLDER, 'crawlee.mjs')] },
    {
      name: 'Scrapy',
      command: typeof found === 'string' ? found : [found.command[0] ?? '', '-I', join(FOLDER, 'scrapy.py')],
    },
    {
      name: 'Python',
      command: python === undefined ? 'python3 is not installed' : [python, '-I', join(FOLDER, 'python.py')],
    },
  ]
}

export async function run({ short, only, seeds = '3' }: BenchOptions): Promise<BenchSection> {
  const [hosts, urls, delayMs, rounds] = short ? [3, 5, 100, 1] : [20, 300, 1_000, Number(seeds)]
  const rows: string[][] = []
  const loads: number[] = []
  for (const { name, command } of adapters()) {
    if (only !== undefined && !only.split(',').includes(name.toLowerCase())) continue
    if (typeof command === 'string') {
      rows.push([`${name} (${command})`, ...Array<string>(5).fill('')])
      continue
    }
    const figures: Awaited<ReturnType<typeof measure>>[] = []
    for (let n = 0; n < rounds; n++) {
      const one = await measure(command, hosts, urls, delayMs)
      figures.push(one)
      if (!short)
        process.stderr.write(`${name}: ${one.seconds.toFixed(1)} s, at least ${one.leastSeconds.toFixed(1)} s\n`)
      loads.push(loadavg()[0] ?? 0)
    }
    rows.push([
      name,
      spread(figures.map(({ seconds }) => seconds)),
      spread(figures.map(({ leastSeconds }) => leastSeconds)),
      spread(figures.map(({ whole }) => 100 * whole)),
      `${round(median(figures.map(({ lanes }) => 100 * median(lanes))))}, ${round(100 * Math.min(...figures.flatMap(({ lanes }) => lanes)))}`,
      String(figures.reduce((sum, { violations }) => sum + violations, 0)),
    ])
  }
  const head = [
    'adapter',
    'seconds',
    'the least that is permitted',
    'share, %',
    'share of a lane: median, worst, %',
    'violations',
  ]
  return {
    name: 'adapters: how close to the permitted rate',
    lines: [
      `${urls} URLs of ${hosts} hosts, ${delayMs} ms after each answer, ${rounds} rounds; load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`,
      '',
      ...table(head, rows),
    ],
  }
}

async function measure([program = '', ...args]: string[], hosts: number, count: number, delayMs: number) {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-adapters-'))
  const record = join(folder, 'visits.ndjson')
  const sites = Array.from({ length: hosts }, (_, n) => ({
    name: `s${n}`,
    robots: { body: '' },
    pages: { delayMs: 20 },
  }))
  const web = await spawnWeb({ sites, record })
  const redis = await benchRedis()
  const env = fleetEnv({ agent: AGENT, delayMs, slots: 100 }, { REDIS_URL: redis.url })
  const fleet = await startFleet({ env, gateways: 0, fetchers: 1, permits: 1 })
  try {
    const origins = Object.values(web.origins)
    const list = join(folder, 'urls')
    await writeFile(list, Array.from({ length: count }, (_, n) => `${origins[n % hosts]}/${n}\n`).join(''))
    const permits = `http://127.0.0.1:${fleet.of('permits')[0]?.port}`
    await run_(program, [...args, permits, list, INTEGRATIONS], { cwd: folder, timeout: 120_000 })
    await web.flush()
    const evidence = await readLogs([record])
    const { requests } = evidence
    const agents = agentsOf({ agent: AGENT.name, profile: 'decorum', minDelayMs: delayMs, maxDelayMs: 10_000 })
    const times = origins.flatMap(
      (origin) =>
        timesOf(
          requests.filter((one) => one.origin === origin),
          delayMs,
        ) ?? [],
    )
    const pages = requests.filter(({ path, status }) => path !== '/robots.txt' && status === 200)
    if (pages.length !== count) throw new Error(`${pages.length} of ${count} pages were had`)
    const tookMs = Math.max(...requests.map(({ start }) => start)) - Math.min(...requests.map(({ start }) => start))
    const leastMs = Math.max(...times.map(({ permittedMs }) => permittedMs))
    return {
      seconds: tookMs / 1_000,
      leastSeconds: leastMs / 1_000,
      whole: leastMs / tookMs,
      lanes: times.map(({ permittedMs, takenMs }) => permittedMs / takenMs),
      violations: judgeRecord(evidence, { agents }).total,
    }
  } finally {
    await fleet.stop(5_000)
    await web.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
