/** `decorum crawls`: lists the crawls of the fleet with their counts; pauses, weights, limits, cancels and deletes one. */
import { type Crawl, type CrawlChange, type CrawlRecord } from '@decorum/ledger'
import { printable } from '@decorum/protocol'
import { defined } from '@decorum/runtime/defined'
import { CommandError, DONE, type ExitCode, FAILED, UsageError } from '../exit.ts'
import { withFleetLedger } from '../fleet-ledger.ts'
import { columns, printResult, warn } from '../terminal.ts'
import { type Accountable, recorded } from '../who.ts'

type Named = Accountable & { json?: boolean }
type Limit = 'for' | 'stored' | 'perDay' | 'perHost' | 'perDomain' | 'bytes' | 'maxBytes' | 'deadlineMs' | 'attempts'
export type SetOptions = Named & { [L in Limit]?: number | 'none' } & {
  weight?: number
  redirects?: 'follow' | 'report' | 'none'
  priority?: 'high' | 'normal' | 'none'
  accept?: string
  pool?: string
}

export function listCrawls({ json }: { json?: boolean }): Promise<void> {
  return withFleetLedger(async ({ ledger }) => {
    const crawls = await ledger.crawls()
    printResult(json, { crawls }, columns([HEAD, ...crawls.map(cellsOf)]).join('\n'))
  })
}

export const setState = (name: string, state: 'running' | 'paused' | 'cancelled', options: Named): Promise<ExitCode> =>
  change(name, { state }, options)

/** @param options  'none' removes a limit or a setting */
export async function setCrawl(name: string, options: SetOptions): Promise<ExitCode> {
  const { weight, stored, perDay, perHost, perDomain, bytes } = options
  const { redirects, priority, accept, maxBytes, deadlineMs, attempts, pool } = options
  const limits = wanted({ stored, pagesPerDay: perDay, pagesPerHost: perHost, pagesPerDomain: perDomain, bytes })
  const types = accept === 'none' ? ('none' as const) : accept?.split(',').map((type) => type.trim())
  const settings = wanted({ redirects, priority, accept: types, maxBytes, deadlineMs, attempts, pool })
  const made: CrawlChange = defined({ weight, limits, settings })
  const isNothing = Object.keys(made).length === 0 && options.for === undefined
  if (isNothing) throw new UsageError('no setting was given: --help lists them')
  return change(name, made, options, options.for)
}

/** The options that were given, with null for `none`, which removes the setting; undefined: no option was given. */
function wanted<T extends object>(typed: T): { [K in keyof T]?: Exclude<T[K], 'none'> | null } | undefined {
  const given = Object.entries(typed).filter(([, value]) => value !== undefined)
  if (given.length === 0) return undefined
  const values = given.map(([name, value]) => [name, value === 'none' ? null : value])
  return Object.fromEntries(values) as { [K in keyof T]?: Exclude<T[K], 'none'> | null }
}

async function change(name: string, wanted: CrawlChange, options: Named, endsIn?: number | 'none'): Promise<ExitCode> {
  return withFleetLedger<ExitCode>(async ({ ledger }) => {
    // Only a change of state needs a known crawl: a crawl may be configured before any URL or reader names it.
    if (wanted.state !== undefined) await ledger.crawlBook.refresh()
    if (wanted.state !== undefined && !ledger.crawlBook.has(name)) throw noCrawl(name)
    const end = endsIn === undefined ? {} : { expiresAt: endsIn === 'none' ? null : Math.ceil(ledger.wall() + endsIn) }
    const changing = { name, change: { ...wanted, ...end }, ...recorded(options) }
    const { record, unreached } = await ledger.changeCrawl(changing)
    printResult(
      options.json,
      { name, record },
      `${name}: ${[record.state, `weight ${record.weight}`, ...boundsOf(record)].join(', ')}`,
    )
    if (unreached === 0) return DONE
    warn(`${unreached} of ${ledger.tags.length} partitions do not answer: each gets the change as soon as it does`)
    return FAILED
  })
}

const noCrawl = (name: string): CommandError =>
  new CommandError(`there is no crawl '${name}': 'decorum crawls' lists those that there are`)

/** @throws CommandError when there is no such crawl, or while it holds URLs or groups read it */
export function forgetCrawl(name: string, { json }: Named): Promise<void> {
  return withFleetLedger(async ({ ledger }) => {
    const answer = await ledger.forgetCrawl(name)
    if (answer === 'absent') throw noCrawl(name)
    if (answer === 'stored') throw new CommandError(`the crawl '${name}' holds URLs: cancel it first`)
    if (answer === 'read')
      throw new CommandError(`groups read the crawl '${name}': see 'decorum status readers --crawl ${name}'`)
    printResult(json, { name, forgotten: true }, `forgotten: ${name}`)
  })
}

/** End, limits and settings of a crawl, one text each. */
function boundsOf({ expiresAt, limits = {}, settings = {} }: CrawlRecord): string[] {
  const until = expiresAt === undefined ? [] : [`until ${new Date(expiresAt).toISOString()}`]
  const set = Object.entries({ ...limits, ...settings }).map(([name, value]) => `${name} ${String(value)}`)
  return [...until, ...set].map(printable)
}

const HEAD = ['crawl', 'state', 'weight', 'waiting', 'outcomes', 'fetched', 'unread', 'end, limits, settings']

function cellsOf({ name, record, waiting, counts, unread }: Crawl): string[] {
  const ended = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const { state, weight } = record
  const cells = [printable(name), state, weight, waiting, ended, counts.fetched ?? 0, unread]
  return [...cells.map(String), boundsOf(record).join(', ') || '-']
}
