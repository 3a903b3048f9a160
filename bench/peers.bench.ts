/**
 * Crawlers of others before and after one line: the same recording sites, the same URLs, bare and with permits, as one process
 * and as three that share nothing. The sites' own record is judged. What is not installed is left out, and the table says so.
 */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { agentsOf, type Evidence, judgeRecord, readLogs } from '@decorum/audit'
import { startFleet } from '@decorum/cli'
import { type Site, spawnWeb } from '@decorum/synthetic-web'
import { table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { benchRedis } from './frame/redis.ts'

const run_ = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../integrations')
const PYTHON = '/usr/bin/python3'
const DELAY_MS = 100
const AGENT = { name: 'journeybot', userAgent: 'journeybot/1 (+https://example.com/bot)' }

/** One process of a peer. @param permits  of the service, or 'bare' */
type Peer = {
  name: string
  isHere: boolean
  crawl: (permits: string, urls: string[]) => [program: string, args: string[]]
}
const PEERS: Peer[] = [
  {
    name: 'Scrapy',
    isHere: spawnSync(PYTHON, ['-c', 'import scrapy']).status === 0,
    crawl: (permits, urls) => [PYTHON, [join(FOLDER, 'scrapy/example.py'), permits, '-', ...urls]],
  },
  {
    name: 'Crawlee',
    isHere: true,
    crawl: (permits, urls) => [process.execPath, [join(FOLDER, 'crawlee/example.js'), permits, ...urls]],
  },
  {
    name: 'Python, 256 threads',
    isHere: spawnSync(PYTHON, ['-c', 'import urllib']).status === 0,
    crawl: (permits, urls) => [PYTHON, [join(FOLDER, 'python/example.py'), permits, ...urls]],
  },
  {
    name: 'undici',
    isHere: true,
    crawl: (permits, urls) => [process.execPath, [join(FOLDER, 'undici/example.js'), permits, ...urls]],
  },
]

type Kind = { site: Omit<Site, 'name'>; delayMs: number }
const RETRY_AFTER_MS = 2_000
/** What is owed after each answer of a site; where robots.txt fails for ever nothing may be fetched at all. */
const KINDS: Record<string, Kind> = {
  plain: { site: { robots: { body: '' } }, delayMs: DELAY_MS },
  paced: { site: { robots: { body: 'User-agent: *\nCrawl-delay: 0.3\n' } }, delayMs: 300 },
  forbids: { site: { robots: { body: 'User-agent: *\nDisallow: /private\n' } }, delayMs: DELAY_MS },
  fails: { site: { robots: { status: 503 } }, delayMs: DELAY_MS },
  slow: { site: { robots: { body: '' }, pages: { delayMs: 300, bytes: 1_000 } }, delayMs: DELAY_MS },
  busy: {
    site: { robots: { body: '' }, pages: [{}, {}, { status: 429, retryAfter: String(RETRY_AFTER_MS / 1_000) }, {}] },
    delayMs: DELAY_MS,
  },
}
const sitesOf = (each: number): Site[] =>
  Object.entries(KINDS).flatMap(([kind, { site }]) =>
    Array.from({ length: each }, (_, n) => ({ name: `${kind}${n}`, ...site })),
  )

/** The shortest time in which the sites' answers and the delays after them fit, as a share of the time that was taken. */
function shareOfPermitted({ requests }: Evidence, origins: Record<string, string>): number {
  let leastMs = 0
  let takenMs = 0
  for (const [name, origin] of Object.entries(origins)) {
    const kind = name.replace(/\d+$/, '')
    const seen = requests.filter((one) => one.origin === origin).toSorted((one, other) => one.start - other.start)
    const [first] = seen
    if (first === undefined || kind === 'fails') continue
    const owed = seen.map(({ status }) => (status === 429 ? RETRY_AFTER_MS : (KINDS[kind]?.delayMs ?? DELAY_MS)))
    leastMs += seen.reduce((ms, { start, end }) => ms + end - start, 0)
    leastMs += owed.slice(0, -1).reduce((ms, one) => ms + one, 0)
    takenMs += Math.max(...seen.map(({ end }) => end)) - first.start
  }
  return leastMs / takenMs
}

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const rows: string[][] = []
  const loads: number[] = []
  for (const peer of PEERS) {
    if (!peer.isHere) rows.push([`${peer.name} (not installed)`, ...Array<string>(9).fill('')])
    for (const processes of peer.isHere ? [1, 3] : [])
      for (const polite of [false, true]) {
        rows.push(await measure(peer, processes, polite, short))
        loads.push(loadavg()[0] ?? 0)
      }
  }
  const head = [
    'crawler',
    'overlaps',
    'too short',
    'forbidden',
    'before rules',
    'in Retry-After',
    'robots fetches per origin',
    'pages',
    'share of the permitted rate',
    'seconds',
  ]
  const lines = [
    ...table(head, rows),
    '',
    `Load average of the machine: ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`,
  ]
  return { name: 'Crawlers of others, bare and with permits', lines }
}

async function measure(peer: Peer, processes: number, polite: boolean, short: boolean): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-peers-'))
  const record = join(folder, 'visits.ndjson')
  const web = await spawnWeb({ sites: sitesOf(short ? 1 : 3), record })
  const redis = await benchRedis()
  const env = {
    ...process.env,
    REDIS_URL: redis.url,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DECORUM_AGENTS: JSON.stringify([AGENT]),
    DEFAULT_DELAY_MS: String(DELAY_MS),
    LOG_LEVEL: 'error',
  }
  const fleet = await startFleet({ env, gateways: 0, fetchers: 1, permits: 1 })
  try {
    const urls = Array.from({ length: short ? 6 : 12 }, (_, n) =>
      Object.values(web.origins).map((origin) => `${origin}/${n === 5 ? 'private/' : ''}${n}`),
    ).flat()
    const permits = polite ? `http://127.0.0.1:${fleet.of('permits')[0]?.port}` : 'bare'
    const at = performance.now()
    await Promise.all(
      Array.from({ length: processes }, (_, part) => {
        const [program, args] = peer.crawl(
          permits,
          urls.filter((_url, n) => n % processes === part),
        )
        return run_(program, args, { timeout: 240_000 })
      }),
    )
    const seconds = (performance.now() - at) / 1_000
    await web.flush()
    const evidence = await readLogs([record])
    const agents = agentsOf({ agent: AGENT.name, profile: 'decorum', minDelayMs: DELAY_MS, maxDelayMs: 10_000 })
    const { violations } = judgeRecord(evidence, { agents })
    const robots = evidence.requests.filter(({ path }) => path === '/robots.txt').length
    const pages = evidence.requests.filter(({ path, status }) => path !== '/robots.txt' && status === 200).length
    const name = `${peer.name}, ${processes} ${processes === 1 ? 'process' : 'processes'}, ${polite ? 'with permits' : 'bare'}`
    return [
      name,
      ...[
        violations.overlap,
        violations['short-delay'],
        violations.disallowed + violations['rules-unreachable'],
        violations['before-rules'],
        violations['in-back-off'],
      ].map(String),
      (robots / Object.keys(web.origins).length).toFixed(1),
      String(pages),
      `${Math.round(100 * shareOfPermitted(evidence, web.origins))} %`,
      seconds.toFixed(1),
    ]
  } finally {
    await fleet.stop(5_000)
    await web.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
