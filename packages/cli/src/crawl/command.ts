/** `decorum crawl`: fetches a list of URLs, records one outcome for each, and ends. */
import { createWriteStream } from 'node:fs'
import { join, relative } from 'node:path'
import { FLEET_SETTINGS } from '@decorum/config'
import { printableAll, REFUSALS, REFUSED_REASONS } from '@decorum/protocol'
import { type AppendFile, openAppendFile } from '../append-file.ts'
import { agreedSettings, givenSettings } from '../agreed-settings.ts'
import type { EarlyFleet } from '../early-fleet.ts'
import { CommandError, DONE, type ExitCode, FAILED, messageOf, STOPPED, UsageError } from '../exit.ts'
import type { RoleEvent } from '../fleet.ts'
import { catchInterrupt } from '../interrupt.ts'
import { emptyList, nameOf, openInput } from '../lines.ts'
import { type LocalFleet, openLocalFleet } from '../local-fleet.ts'
import { holdName } from '../local-redis/index.ts'
import { called, type Print, printerOf, troubleReporter } from '../say.ts'
import { type CliSettings, whatIsOpened } from '../settings.ts'
import { printResult } from '../terminal.ts'
import { agentNamed } from '../typed.ts'
import { type Display, displayOn } from './display.ts'
import { type OutFolder, openOutFolder, settingsOf } from './out-folder.ts'
import { outcomesIn } from './outcome-file.ts'
import { type Limits, runCrawl } from './run.ts'
import { isAllRefused, NO_PAGES, placeOfPages, printSummary, type SummaryInput, summaryOf } from './summary.ts'
import { type Counts, Tally } from './tally.ts'

export type CrawlOptions = Limits & {
  agent?: string
  out: string
  gateways: number
  fetchers: number
  archive: boolean
  resume?: boolean
  name?: string
  json?: boolean
}

/** @returns DONE when every URL has its outcome, STOPPED when Ctrl-C or a limit came first and the rest is stored */
export async function crawlCommand(
  file: string | undefined,
  options: CrawlOptions,
  fleet: EarlyFleet,
): Promise<ExitCode> {
  const print = printerOf(options.json)
  const env = options.resume ? await environmentToResume(options.out, print) : process.env
  const settings = await agreedSettings(env)
  const { folder, input } = await prepare(file, options, settings, env)
  // Folder or store for this crawl's pages; '': no pages are kept.
  const pages = options.archive ? (settings.archiveDir ?? folder.pages) : ''
  const tally = new Tally(folder.note.run)
  const display = displayOn(process.stderr, options.json === true, print)
  let local: LocalFleet | undefined
  let outcomes: AppendFile | undefined
  const interrupt = catchInterrupt(() => (local === undefined ? process.exit(FAILED) : local.fleet.kill()))
  try {
    local = await start(fleet, folder, pages, settings, env, display)
    await folder.start(local.redis.dir)
    outcomes = await openAppendFile(folder.outcomes)
    if (folder.resumed) for await (const outcome of outcomesIn(folder.outcomes)) tally.record(outcome)
    if (folder.resumed && folder.note.file === '-' && folder.note.whole !== true)
      display.print('list-cut-off', LIST_CUT_OFF)
    const started = performance.now()
    const before = tally.fetched
    const { agents } = local.settings
    const agent = agents.find(folder.note.agent) ?? agents.default
    const ending = await runCrawl({
      folder,
      input,
      tally,
      outcomes,
      display,
      local,
      agent,
      keptIn: keptIn(pages, local),
      limits: options,
      interrupt: interrupt.signal,
    })
    if (ending === 'finished') {
      await local.finish()
      await folder.finish()
    }
    display.stop()
    const ms = performance.now() - started
    const { counts } = tally
    await summarize({ ending, counts, fetched: tally.fetched - before, ms }, folder, pages, local, display, options)
    if (ending !== 'finished') return STOPPED
    const list = file ?? folder.list
    if (counts.total === 0) throw emptyList(list)
    if (!isAllRefused(counts)) return DONE
    if (counts.byKind.invalid === counts.total)
      throw new CommandError(`no line of ${nameOf(list)} is a URL that can be requested`)
    throw new CommandError(`every URL of ${nameOf(list)} was refused: ${whatToDo(counts)}`)
  } finally {
    display.stop()
    await local?.close()
    await outcomes?.close()
    interrupt.release()
  }
}

/** A hint for each reason of a refusal. */
const whatToDo = ({ byReason }: Counts): string =>
  REFUSED_REASONS.filter((reason) => byReason[`refused: ${reason}`] !== undefined)
    .map((reason) => `${reason}: ${REFUSALS[reason].means} ${REFUSALS[reason].todo}`)
    .join(' ')

const LIST_CUT_OFF = 'standard input was cut off when the crawl stopped: it continues with the URLs that had been read'

/** Folder in which every fetcher keeps pages; undefined if uncertain: on a shared Redis other fetchers, or a sink module, may differ. */
function keptIn(pages: string, { redis, settings }: LocalFleet): string | undefined {
  return pages !== '' && redis.kind === 'embedded' && ['warc', 'folder'].includes(settings.pageSink) ? pages : undefined
}

/** The environment, with the settings of the fleet with which the crawl began where it leaves them out. */
async function environmentToResume(out: string, print: Print): Promise<NodeJS.ProcessEnv> {
  const began = await settingsOf(out)
  const kept = FLEET_SETTINGS.filter((name) => began[name] !== undefined && !process.env[name]?.trim())
  if (kept.length > 0) print('settings', `as this crawl began (${join(out, 'crawl.json')}): ${kept.join(', ')}`)
  return { ...process.env, ...Object.fromEntries(kept.map((name) => [name, began[name]])) }
}

/** Validates all arguments before Redis is started and the processes begin. */
async function prepare(
  file: string | undefined,
  options: CrawlOptions,
  { agents, redisUrl: redis }: CliSettings,
  env: NodeJS.ProcessEnv,
) {
  const { gateways, fetchers, out, resume = false } = options
  const agent = (agentNamed(agents, options.agent) ?? agents.default).name
  if (redis === undefined && (gateways === 0 || fetchers === 0)) {
    throw new UsageError('a Redis of its own has no other fleet: --gateways 0 and --fetchers 0 need REDIS_URL')
  }
  const input = file === undefined || resume ? undefined : await openInput(file)
  const settings = givenSettings(env)
  const folder = await openOutFolder({ out, file, resume, agent, crawl: options.name, redis, settings })
  agentNamed(agents, folder.note.agent) // its stored URLs would wait for that agent
  // Held until this process ends: two crawls would write the same files
  if ((await holdName('out', folder.dir)) === undefined)
    throw new CommandError(`another crawl is at work in ${folder.dir}: give another --out`)
  return { folder, input }
}

async function start(
  fleet: EarlyFleet,
  folder: OutFolder,
  pages: string,
  settings: CliSettings,
  env: NodeJS.ProcessEnv,
  { print }: Display,
): Promise<LocalFleet> {
  const log = createWriteStream(folder.log, { flags: 'a' })
  // The log is only for reading: a failure to write it must not end the crawl.
  log.on('error', (error) => print('log', `${folder.log} cannot be written: ${messageOf(error)}`))
  const reportTrouble = troubleReporter(print)
  const local = await openLocalFleet({
    settings,
    env: { ...env, ARCHIVE_DIR: pages },
    dataDir: folder.stored,
    resumed: folder.resumed,
    whenTaken: 'join',
    crawl: { run: folder.note.run, out: folder.dir, pages },
    fleet,
    print,
    onEvent: (event: RoleEvent) => {
      log.write(`${JSON.stringify(event.kind === 'line' ? { name: event.name, ...event.line } : event)}\n`)
      reportTrouble(event)
    },
  })
  if (local.redis.kind === 'joined')
    print('joined', `joins the fleet that is running already, on its Redis in ${local.redis.dir}`)
  for (const line of whatIsOpened(local.settings)) print('opened', line)
  return local
}

async function summarize(
  run: Pick<SummaryInput, 'ending' | 'counts' | 'fetched' | 'ms'>,
  folder: OutFolder,
  pages: string,
  local: LocalFleet,
  { print }: Display,
  options: CrawlOptions,
): Promise<void> {
  const { kind, dir } = local.redis
  // whether other commands use the same embedded Redis
  const isShared = dir !== undefined && (await local.redis.isShared())
  const goesOn = isShared ? '; the running fleet continues it' : ''
  const place = (path: string) => relative('', path) || '.'
  const summary = summaryOf({
    ...run,
    outcomes: place(folder.outcomes),
    ...(options.archive ? placeOfPages(local.settings, place(pages)) : NO_PAGES),
    stored: dir === undefined ? `stored in Redis at ${folder.note.redis ?? ''}` : `stored in ${place(dir)}${goesOn}`,
    goOn: `${called(process.env)} crawl --resume --out ${place(folder.dir)}`,
    giveUp: kind === 'embedded' ? undefined : `${called(process.env)} crawls cancel ${folder.note.crawl}`,
  })
  if (isShared && kind === 'embedded' && dir !== undefined)
    print('kept', `another crawl works on the Redis in ${place(dir)}: keep that folder until it has ended`)
  printResult(options.json, { event: 'summary', ...summary }, printSummary(printableAll(summary)))
}
