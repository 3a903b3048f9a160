/**
 * `npm run storm -- hostile [--minutes N] [--quiet-minutes N] [--poured-rate URLS] [--poured-limit URLS] [--keep DIR]`: N minutes quiet (or as many as said) and N minutes flooded; exit 1 when a figure is
 * missed. With `--poured-limit` the crawl that pours has a limit of stored URLs, as an operator sets it with `crawls set`.
 */
import { mkdir } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { flood, type HostileResult } from './hostile.ts'
import { DEFAULTS } from './manners.ts'
import { printRows, type Rows } from './print-rows.ts'

const MB = 1024 * 1024
const REDIS_BYTES = 64 * MB
const POLITE = 40

/** What a flood may cost. */
const FIGURES = { keptRate: 0.9, rssRatio: 2, loopMs: 500, redisShare: 1 }

export async function hostileCommand(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '10' },
      'quiet-minutes': { type: 'string' },
      'poured-rate': { type: 'string', default: '500' },
      'poured-limit': { type: 'string' },
      keep: { type: 'string' },
    },
  })
  const { keep, 'poured-limit': limit } = values
  const [minutes, pouredRate] = [Number(values.minutes), Number(values['poured-rate'])]
  const quietMinutes = Number(values['quiet-minutes'] ?? minutes)
  if (!(minutes > 0) || !(quietMinutes > 0) || !(pouredRate >= 2) || !(Number(limit ?? 1) > 0)) {
    process.stderr.write(
      'storm: --minutes, --quiet-minutes and --poured-limit want a number above 0, --poured-rate one above 1\n',
    )
    return 2
  }
  if (keep !== undefined) await mkdir(keep, { recursive: true })
  const result = await flood({
    ms: minutes * 60_000,
    quietMs: quietMinutes * 60_000,
    calmMs: 240_000,
    times: DEFAULTS,
    processes: { gateway: 2, fetcher: 2, permits: 1, console: 1 },
    polite: POLITE,
    redisBytes: REDIS_BYTES,
    pouredRate,
    ...(limit === undefined ? {} : { pouredLimit: Number(limit) }),
    ...(keep === undefined ? {} : { keep }),
    say: (line) => process.stderr.write(`hostile: ${line}\n`),
  })
  const missed = missedOf(result)
  process.stdout.write(printFlood(result, missed))
  return missed.length === 0 ? 0 : 1
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
const mb = (bytes: number): string => `${Math.round(bytes / MB)} MB`
const ratio = ({ quiet, flooded }: HostileResult, name: string): number =>
  (flooded.use.rssBytes.get(name) ?? 0) / (quiet.use.rssBytes.get(name) ?? 1)

/** @returns promises broken and figures missed, in words */
export function missedOf(result: HostileResult): string[] {
  const { quiet, flooded, report, lost, doubled, missing, replaced } = result
  const missed = [
    ...report.examples.map(({ offence, origin, path, because }) => `${offence}: ${origin}${path}: ${because}`),
    ...(lost.length > 0 ? [`${lost.length} accepted candidates have no outcome: ${lost.slice(0, 5).join(', ')}`] : []),
    ...(doubled.length > 0 ? [`${doubled.length} candidates have several: ${doubled.slice(0, 5).join(', ')}`] : []),
    ...missing.map((what) => `there was none: ${what}`),
    ...replaced.map((name) => `${name} was ended and started again`),
  ]
  if (flooded.rate < FIGURES.keptRate * quiet.rate)
    missed.push(`polite sites kept ${percent(flooded.rate / quiet.rate)}`)
  for (const name of flooded.use.rssBytes.keys())
    if (ratio(result, name) > FIGURES.rssRatio)
      missed.push(`${name} has ${ratio(result, name).toFixed(1)} × its quiet memory`)
  for (const [name, ms] of flooded.use.loopMs)
    if (ms > FIGURES.loopMs) missed.push(`the event loop of ${name} took ${Math.round(ms)} ms at a stretch`)
  if (flooded.use.redisShare > FIGURES.redisShare)
    missed.push(`Redis used ${percent(flooded.use.redisShare)} of its memory`)
  return missed
}

export function printFlood(result: HostileResult, missed: string[]): string {
  const { quiet, flooded, report, lost, accepted, sites, callers, troubles } = result
  const list = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([what, n]) => `${what} ${n}`)
      .join(', ')
  const both = (of: (phase: HostileResult['quiet']) => string): string => `${of(quiet)} → ${of(flooded)}`
  const rows: Rows = [
    ['', 'quiet → flooded'],
    ['pages of polite sites a second', `${both(({ rate }) => rate.toFixed(2))}: ${percent(flooded.rate / quiet.rate)}`],
    ['  of the site that had least', both(({ leastRate }) => leastRate.toFixed(3))],
    ['load average', both(({ load }) => load.toFixed(1))],
    ['logins with the right password, refused', both(({ logins: { right, refused } }) => `${right}, ${refused}`)],
    ['Redis, of its maxmemory', both(({ use }) => `${mb(use.redisBytes)} (${percent(use.redisShare)})`)],
    ...[...flooded.use.rssBytes].map(([name, bytes]): [string, string] => [
      `${name}: memory; loop at a stretch; processor`,
      `${mb(quiet.use.rssBytes.get(name) ?? 0)} → ${mb(bytes)} (${ratio(result, name).toFixed(2)} ×); ${both(({ use }) => `${Math.round(use.loopMs.get(name) ?? 0)} ms`)}; ${both(({ use }) => `${((use.cpuMs.get(name) ?? 0) / 1_000).toFixed(1)} s`)}`,
    ]),
    ['candidates accepted', `${accepted.polite} polite, ${accepted.poured} poured`],
    ['hostile sites were asked', list(sites)],
    ...Object.entries(callers).map(([deed, counts]): [string, string] => [`answers: ${deed}`, list(counts)]),
    ['requests heard by polite sites', `${report.requests} at ${report.origins} origins`],
    ['violations', String(report.examples.length)],
    ['lost', String(lost.length)],
  ]
  return printRows(rows, { troubles, broken: missed })
}
