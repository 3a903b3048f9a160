/**
 * `decorum demo`: a small synthetic web on loopback, a real fleet on a real Redis, and an audit of what the sites saw.
 * No request leaves this machine, and no file stays on it unless `--keep` says where.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { styleText } from 'node:util'
import { agentsOf, judgeRecord, type Report, readLogs, textReport } from '@decorum/audit'
import { loadAgents } from '@decorum/config'
import { printable, printableAll } from '@decorum/protocol'
import { CommandError, DONE, type ExitCode, FAILED, STOPPED } from '../exit.ts'
import { startFleet } from '../fleet.ts'
import { catchInterrupt } from '../interrupt.ts'
import { isolatedEnv } from '../isolated-env.ts'
import { ensureRedis } from '../local-redis/index.ts'
import { some, troubleReporter } from '../say.ts'
import { spawnWeb, type WebProcess } from '../synthetic-web/index.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { printJson } from '../terminal.ts'
import { type CrawlEnd, crawlAll, lateOutcomes } from './crawl.ts'
import { kindTable } from './kind-table.ts'
import { type Screen, screenOn } from './screen.ts'
import { DEMO, FETCHERS, GATEWAYS, LIMIT_MS } from './settings.ts'
import { DEMO_AGENTS, demoSites, demoUrls, kindOf } from './sites.ts'

export type DemoOptions = {
  /** folder for the sites' record and the agents file */
  keep?: string
  json?: boolean
}

/**
 * @returns 0 when every URL has the outcome to be expected and the sites saw no violation; 1 otherwise; 3 after Ctrl-C
 * @throws  CommandError and the errors of Redis and fleet when something cannot be started
 */
export async function demoCommand(options: DemoOptions): Promise<ExitCode> {
  const began = performance.now()
  const screen = screenOn(options.json ? process.stderr : process.stdout)
  const folder = await recordFolder(options.keep)
  const interrupt = catchInterrupt(() => process.exit(STOPPED))
  try {
    screen.line(`${styleText('bold', 'decorum demo')}: one polite crawl, start to finish, on this machine alone`)
    screen.line()
    const web = await spawnWeb({ sites: demoSites(), record: join(folder, 'visits.ndjson') }).catch((error: Error) => {
      throw new CommandError(`demo: the synthetic web did not start: ${error.message}`)
    })
    const crawled = await crawlTheWeb(web, screen, interrupt.signal)
    if (interrupt.signal.aborted) {
      screen.line('stopped; nothing of the demo is left')
      return STOPPED
    }
    const report = await auditOf(folder)
    await writeFile(join(folder, 'agents.json'), `${JSON.stringify(DEMO_AGENTS, null, 2)}\n`)
    return conclude({ crawled, report, web, screen, options, seconds: (performance.now() - began) / 1_000, folder })
  } finally {
    interrupt.release()
  }
}

async function recordFolder(keep: string | undefined): Promise<string> {
  if (keep === undefined) return temporaryFolder('demo')
  const folder = resolve(keep)
  try {
    await mkdir(folder, { recursive: true })
    await rm(join(folder, 'visits.ndjson'), { force: true }) // a record holds one run
    return folder
  } catch (error) {
    throw new CommandError(`--keep: ${(error as Error).message}`)
  }
}

/** Runs Redis, the fleet and the crawl. When it resolves, all of them have ended and the record is complete. */
async function crawlTheWeb(web: WebProcess, screen: Screen, signal: AbortSignal): Promise<CrawlEnd> {
  const candidates = demoUrls(web.origins)
  const addresses = Object.values(web.origins).map((origin) => new URL(origin))
  screen.fact(
    'sites',
    `${addresses.length} on ${addresses[0]?.hostname} … ${addresses.at(-1)?.hostname}, port ${addresses[0]?.port}; they write down every request`,
  )
  // Never the user's own Redis: a fleet there would fetch these URLs, or refuse them.
  const redis = await ensureRedis({ log: (line) => screen.line(line) })
  try {
    screen.fact('Redis', `${redis.place}, its data in a temporary folder`)
    const started = performance.now()
    const troubles: string[] = [] // printed at the end, because the progress line moves
    const fleet = await startFleet({
      env: isolatedEnv(redis.url, DEMO_AGENTS, DEMO),
      gateways: GATEWAYS,
      fetchers: FETCHERS,
      onEvent: troubleReporter((_, text = '') => troubles.push(text)),
    })
    try {
      screen.fact(
        'fleet',
        `${GATEWAYS} gateways and ${FETCHERS} fetchers, each a process; ready in ${((performance.now() - started) / 1_000).toFixed(1)} s`,
      )
      screen.fact('agents', DEMO_AGENTS.map(({ name }) => name).join(', '))
      screen.fact(
        'manners',
        `${DEMO.DEFAULT_DELAY_MS} ms of silence after each answer, or the site's crawl-delay, at most ${DEMO.MAX_DELAY_MS / 1_000} s`,
      )
      screen.fact('candidates', `${candidates.length} URLs, some forbidden, some unreachable, some no URLs at all`)
      screen.line()
      const crawled = await crawlAll({
        redisUrl: redis.url,
        urls: candidates,
        limitMs: LIMIT_MS,
        signal,
        onProgress: ({ outcomes, urls, targets }, waiting) =>
          screen.progress(outcomes, urls + targets, waitingFor(web, waiting())),
      })
      screen.settle()
      await fleet.stop(DEMO.LEASE_MS)
      if (!signal.aborted) crawled.sums.wrong.push(...(await lateOutcomes(redis.url)))
      for (const trouble of troubles) screen.line(`  ${printable(trouble)}`)
      return crawled
    } finally {
      fleet.kill()
    }
  } finally {
    await redis.stop()
    await web.stop()
  }
}

/** Names the sites whose URLs still wait. With a crawl-delay of 100 s, long waits are normal. */
function waitingFor(web: WebProcess, urls: string[]): string {
  const waiting = Object.entries(web.origins).filter(([, origin]) => urls.some((url) => url.startsWith(`${origin}/`)))
  if (waiting.length === 0) return 'done'
  const titles = new Set(waiting.map(([, origin]) => kindOf(web.origins)(origin)?.title))
  if (titles.size > 1) return `${waiting.length} sites still have URLs`
  return `waiting for ${waiting.map(([name]) => name).join(', ')}: ${[...titles].join()}`
}

async function auditOf(folder: string): Promise<Report> {
  const agents = loadAgents({
    agents: JSON.stringify(DEMO_AGENTS),
    defaultDelayMs: DEMO.DEFAULT_DELAY_MS,
    maxDelayMs: DEMO.MAX_DELAY_MS,
  })
  return judgeRecord(await readLogs([join(folder, 'visits.ndjson')]), {
    agents: agentsOf({ agents, profile: 'decorum', minDelayMs: DEMO.DEFAULT_DELAY_MS, maxDelayMs: DEMO.MAX_DELAY_MS }),
    robotsRetryMs: DEMO.ROBOTS_RETRY_MS,
  })
}

type Ending = {
  crawled: CrawlEnd
  report: Report
  web: WebProcess
  screen: Screen
  options: DemoOptions
  seconds: number
  folder: string
}

/** Prints the tables and a last sentence. @returns the exit code */
function conclude({ crawled, report, web, screen, options, seconds, folder }: Ending): ExitCode {
  const { urls, targets, outcomes, byKind, wrong } = crawled.sums
  const sum = urls + targets
  const complaints = printableAll([...wrong, ...crawled.unanswered.map((url) => `${url}: no outcome`)])
  const clean = report.total === 0 && complaints.length === 0 && outcomes === sum
  if (options.json) {
    printJson({ clean, seconds, urls, targets, outcomes, byKind, complaints, audit: report }, 2)
    return clean ? DONE : FAILED
  }
  screen.line()
  screen.line(kindTable(report, web.origins))
  screen.line(styleText('bold', 'What became of the URLs'))
  for (const [kind, count] of Object.entries(byKind).toSorted(([, a], [, b]) => b - a))
    screen.line(`  ${String(count).padStart(4)}  ${kind}`)
  screen.line(
    `  ${String(outcomes).padStart(4)}  outcomes, for ${some(urls, 'URL')} and ${some(targets, 'redirect target')}`,
  )
  for (const complaint of complaints) screen.line(styleText('red', `  ✗ ${complaint}`))
  screen.line()
  screen.line(styleText('bold', 'The audit: what the sites recorded, and nothing else'))
  screen.line()
  screen.line(textReport(report, { lanes: 5, printable }))
  screen.line(
    clean
      ? `${urls} URLs in, ${sum} outcomes out, ${report.requests} requests, and no site had anything to complain about. ${seconds.toFixed(0)} s.`
      : styleText(
          'red',
          `Something is wrong: ${some(report.total, 'violation')}, ${some(complaints.length, 'URL')} without the outcome to be expected. ${seconds.toFixed(0)} s.`,
        ),
  )
  if (options.keep !== undefined) {
    const typed = `decorum audit ${join(folder, 'visits.ndjson')} --agents ${join(folder, 'agents.json')}`
    screen.line(`The record is kept; to judge it again: ${typed} --robots-retry-ms ${DEMO.ROBOTS_RETRY_MS}`)
  }
  return clean ? DONE : FAILED
}
