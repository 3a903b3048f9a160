/** Makes a run that broke a promise short: fewer faults, fewer processes, less time; and says how it is played again. */
import { brokenBy, type WorldOptions, type WorldReport } from './world.ts'

/** Options of a run that are numbers, as they are written on the command line. */
export const NUMBERS = {
  sites: '--sites',
  plain: '--plain',
  busySeconds: '--busy',
  gateways: '--gateways',
  fetchers: '--fetchers',
  permits: '--permits',
  proxies: '--proxies',
  crawlers: '--crawlers',
  workers: '--workers',
  poolEvery: '--pool',
  partitions: '--partitions',
  slots: '--slots',
  faultEveryMs: '--every',
} as const satisfies Partial<Record<keyof WorldOptions, string>>
/** Options that are lists of names. */
export const LISTS = { kinds: '--kinds', manners: '--manners' } as const satisfies Partial<
  Record<keyof WorldOptions, string>
>

/** Runs that are tried. */
const MOST_TRIES = 60

export function lineOf(options: WorldOptions, plant?: string): string {
  const named = Object.entries({ ...NUMBERS, ...LISTS }).flatMap(([option, name]) => {
    const value = options[option as keyof typeof NUMBERS | keyof typeof LISTS]
    if (value === undefined) return []
    return [`${name} ${typeof value === 'number' ? value : `'${value.join(',')}'`}`]
  })
  const only = options.only === undefined ? [] : [`--only '${options.only.join(',')}'`]
  const grouped = options.grouped === undefined ? [] : [`--grouped ${options.grouped}`]
  const planted = plant === undefined ? [] : [`--plant '${plant}'`]
  return ['npm run world -- --whole', `--seed ${options.seed}`, ...named, ...grouped, ...only, ...planted].join(' ')
}

/** The numbers of all faults that were drawn: one that has not fallen may have kept another one from falling. */
export const allUpTo = ({ faults }: WorldReport): number[] =>
  Array.from({ length: Math.max(0, ...faults.map(({ number }) => number)) + MORE }, (_, n) => n + 1)
const MORE = 50

/** What a run is found guilty of: another fault than the first one does not count. */
const guiltOf = (report: WorldReport): Set<string> =>
  new Set([
    ...report.violations.map(({ offence }) => offence),
    ...(report.lost.length > 0 ? ['lost'] : []),
    ...(report.twice.length > 0 ? ['twice'] : []),
    ...(report.untrue.length > 0 ? ['untrue'] : []),
    ...(report.shut.length > 0 ? ['shut'] : []),
    ...(report.leases.length > 0 ? ['leases'] : []),
    ...(report.problems.length > 0 ? ['problem'] : []),
    ...(brokenBy(report).some((line) => line.startsWith('slow')) ? ['slow'] : []),
  ])

/** @returns the options of the shortest run that was found */
export async function shrink(
  whole: WorldOptions,
  found: WorldReport,
  run: (options: WorldOptions) => Promise<WorldReport>,
  plant?: string,
  say: (line: string) => void = console.log,
): Promise<WorldOptions> {
  const guilt = guiltOf(found)
  let best: WorldOptions = { ...whole, only: whole.only ?? allUpTo(found) }
  let report = found
  let tries = 0
  const isGuilty = async (options: WorldOptions): Promise<boolean> => {
    if (++tries > MOST_TRIES) return false
    const tried = await run(options)
    if (![...guiltOf(tried)].some((one) => guilt.has(one))) return false
    best = options
    report = tried
    return true
  }
  await isGuilty({ ...best, only: [] })
  await fewerFaults()
  for (const [option, values] of LESS)
    for (const value of values) {
      const now = best[option] ?? Number.POSITIVE_INFINITY
      if (value < now && (await isGuilty({ ...best, [option]: value }))) break
    }
  await isGuilty({ ...best, only: report.faults.map(({ number }) => number) })
  await fewerFaults()
  say(
    `  made short in ${Math.min(tries, MOST_TRIES)} runs, ${report.requests} requests and ${report.faults.length} faults:`,
  )
  for (const { number, kind } of report.faults.slice(0, 10)) say(`    fault ${number}: ${kind}`)
  for (const line of brokenBy(report).slice(0, 4)) say(`    ${line}`)
  say(`  again: ${lineOf(best, plant)}`)
  return best

  /** Delta debugging: halves, then smaller and smaller parts, are left out for as long as the run is guilty. */
  async function fewerFaults(): Promise<void> {
    for (let parts = 2; ;) {
      const only = best.only ?? []
      if (only.length === 0) return
      const size = Math.ceil(only.length / parts)
      let isLess = false
      for (let at = 0; at < only.length && !isLess; at += size)
        isLess = await isGuilty({ ...best, only: [...only.slice(0, at), ...only.slice(at + size)] })
      if (isLess) parts = Math.max(2, parts - 1)
      else if (size === 1 || tries > MOST_TRIES) return
      else parts = Math.min(only.length, parts * 2)
    }
  }
}

/** The least first: most faults need little. */
const LESS: [keyof typeof NUMBERS, number[]][] = [
  ['crawlers', [0, 1]],
  ['workers', [0]],
  ['partitions', [1]],
  ['proxies', [0]],
  ['permits', [0]],
  ['sites', [6, 12, 30]], // redirects lead to the first six
  ['gateways', [1]],
  ['fetchers', [1, 2]],
  ['busySeconds', [10, 25]],
]
