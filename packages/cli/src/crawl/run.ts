/** Runs a crawl: lines in, outcomes out, until each line has its outcome, a limit is reached, or Ctrl-C. */

import { createReadStream, existsSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Frontier, FrontierUnavailableError, openFrontier } from '@decorum/client'
import type { Agent } from '@decorum/config'
import { LedgerUnavailableError } from '@decorum/ledger'
import type { Outcome } from '@decorum/protocol'
import { aborted } from '@decorum/protocol'
import type { AppendFile } from '../append-file.ts'
import { collect } from '../collect.ts'
import { CommandError, messageOf } from '../exit.ts'
import { linesOf } from '../lines.ts'
import type { LocalFleet } from '../local-fleet.ts'
import { UnusableLines } from '../unusable-lines.ts'
import type { Display } from './display.ts'
import { candidatesOf } from './feed.ts'
import { type Leftovers, leftoversOf, NO_LEFTOVERS } from './leftovers.ts'
import type { OutFolder } from './out-folder.ts'
import { outcomeLines } from './outcome-file.ts'
import { Pace } from './pace.ts'
import { statusOf } from './status.ts'
import type { Ending } from './summary.ts'
import type { Tally } from './tally.ts'
import { viewCrawl } from './view.ts'

export type Limits = {
  maxMinutes?: number
  maxPages?: number
  /** lifetime of each URL, counted from its enqueueing */
  expireMinutes?: number
}

export type Crawl = {
  folder: OutFolder
  /** the open list; undefined: the list of the folder is opened */
  input: Readable | undefined
  tally: Tally
  outcomes: AppendFile
  display: Display
  local: LocalFleet
  agent: Agent
  /** folder in which every fetcher keeps pages: a `fetched` outcome without an archive reference means a lost page; undefined: uncertain */
  keptIn: string | undefined
  limits: Limits
  interrupt: AbortSignal
}

const CHECK_EVERY_MS = 1_000
const CONSUMER = 'crawl'

/**
 * Resolves when the fleet has drained and every outcome of this run is in the file.
 * @throws CommandError when something cannot be written or read; outcomes that were not written are redelivered with --resume
 */
export async function runCrawl(crawl: Crawl): Promise<Ending> {
  const { folder, tally, local, display, limits } = crawl
  const group = groupOf(folder)
  const frontier = await openFrontier({
    redis: local.redis.url,
    crawl: folder.note.crawl,
    patienceMs: Number.POSITIVE_INFINITY,
  })
  const over = Promise.withResolvers<Ending>()
  const stop = new AbortController()
  let fed = false
  const check = () => {
    if (fed && tally.left === 0) over.resolve('finished')
    else if (limits.maxPages !== undefined && tally.fetched - pagesAtStart >= limits.maxPages) over.resolve('limit')
  }
  let pagesAtStart = tally.fetched
  const catchingUp = catchUp(crawl, frontier, group, stop.signal)
  const collecting = catchingUp.then(() => {
    pagesAtStart = tally.fetched
    const write = writer(crawl, check, over.reject)
    return collect(frontier.outcomes({ group, consumer: CONSUMER }), write, over.reject)
  })
  const feeding = catchingUp.then(async (leftovers) => {
    await feed(crawl, frontier, leftovers, stop.signal)
    fed = true
    check()
  })
  for (const work of [collecting, feeding]) work.catch((error: unknown) => over.reject(error))
  const limit =
    limits.maxMinutes === undefined ? undefined : setTimeout(() => over.resolve('limit'), limits.maxMinutes * 60_000)
  void aborted(crawl.interrupt).then(() => over.resolve('interrupted'))
  const watching = watch(crawl, () => fed, stop.signal)
  watching.catch((error: unknown) => over.reject(error))

  try {
    let ending = await over.promise
    if (ending !== 'finished')
      display.print('draining', 'stopping: requests in flight end first; Ctrl-C again ends at once')
    await wind()
    if (fed && tally.left === 0) ending = 'finished'
    if (!fed) await countRest(folder, tally)
    return ending
  } catch (error) {
    await wind().catch(() => undefined) // the first error is reported
    throw new CommandError(`${messageOf(error)}; what is not in ${folder.outcomes} yet is stored: go on with --resume`)
  }

  /** Stops the input, drains the fleet, and reads the last outcomes. */
  async function wind(): Promise<void> {
    clearTimeout(limit)
    stop.abort()
    crawl.input?.destroy() // standard input may be a terminal that still waits for input
    await local.drain()
    await frontier.close()
    const [collected] = await Promise.allSettled([collecting, feeding, watching])
    if (collected.status === 'rejected') throw collected.reason
    await lastOutcomes(crawl, group, fed)
  }
}

/**
 * Handles outcomes: new ones are written, and count once written. A fetched page that was not kept gets no outcome, so that it is
 * fetched again.
 * @param onNew   called after each batch
 * @param onLost  called for each page that was not kept
 */
function writer(
  { tally, outcomes: file, keptIn, folder }: Crawl,
  onNew: () => void = () => undefined,
  onLost: (error: Error) => void = () => undefined,
): (outcomes: Outcome[]) => Promise<void> {
  const isLost = (one: Outcome) => keptIn !== undefined && one.kind === 'fetched' && one.archive === undefined
  return async (outcomes) => {
    const fresh = tally.newOf(outcomes)
    const kept = fresh.filter((one) => !isLost(one))
    await file.append(outcomeLines(kept, (id) => tally.lineOf(id)))
    for (const outcome of kept) tally.record(outcome)
    for (const { url } of fresh.filter(isLost))
      onLost(new Error(`${url} was fetched, but could not be kept in ${keptIn} (${folder.log} says why)`))
    onNew()
  }
}

/** Lines that were not read because the crawl was stopped: they count as remaining. The length of standard input is unknown. */
async function countRest({ list, note }: OutFolder, tally: Tally): Promise<void> {
  if (note.file === '-' || !existsSync(list)) return
  for await (const { number } of linesOf(createReadStream(list))) tally.leave(number)
}

/** The crawl's consumer group, removed when the crawl is finished: other crawls may use the same Redis. */
const groupOf = ({ note }: OutFolder): string => `crawl-${note.run}`

async function feed(crawl: Crawl, frontier: Frontier, leftovers: Leftovers, stop: AbortSignal): Promise<void> {
  try {
    const { folder, input, tally, limits, display } = crawl
    const unusable = new UnusableLines()
    await frontier.enqueue(candidatesOf(folder, input, tally, leftovers, limits.expireMinutes, stop, unusable))
    const hint = unusable.sentence()
    if (hint !== undefined) display.print('unusable-lines', hint)
  } catch (error) {
    if (!stop.aborted) throw error
  }
  if (stop.aborted) throw new Error('stopped before the list was read') // the end of the crawl is already decided
}

/**
 * Outcomes since an earlier run ended are read before anything is enqueued, and again after the check of stored URLs: a URL that is
 * not stored at that time has an outcome among those that were read, or was lost.
 */
async function catchUp(crawl: Crawl, frontier: Frontier, group: string, stop: AbortSignal): Promise<Leftovers> {
  const { folder, tally, local } = crawl
  if (!folder.resumed) return NO_LEFTOVERS
  const read = () =>
    collect(frontier.outcomes({ group, consumer: CONSUMER, wait: false }), writer(crawl)).catch(unlessAway)
  await read()
  const leftovers = await leftoversOf(folder, tally, local.ledger, stop)
  await read()
  return leftovers
}

/**
 * Reads outcomes of the draining phase. When Redis does not answer, they stay stored and come first with --resume.
 * @throws CommandError when they cannot be written
 */
async function lastOutcomes(crawl: Crawl, group: string, fed: boolean): Promise<void> {
  const { folder, tally, local } = crawl
  try {
    const frontier = await openFrontier({ redis: local.redis.url, crawl: folder.note.crawl })
    try {
      await collect(frontier.outcomes({ group, consumer: CONSUMER, wait: false }), writer(crawl))
      const done = fed && tally.left === 0
      if (!done) return
      await frontier.removeGroup(group)
      await local.ledger.forgetCrawl(folder.note.crawl)
    } finally {
      await frontier.close()
    }
  } catch (error) {
    unlessAway(error)
  }
}

/** Ignores the errors by which the frontier and the ledger report that Redis does not answer. @throws every other error */
function unlessAway(error: unknown): void {
  if (!(error instanceof FrontierUnavailableError || error instanceof LedgerUnavailableError)) throw error
}

async function watch({ tally, local, display, agent }: Crawl, fed: () => boolean, stop: AbortSignal): Promise<void> {
  const done = new Pace()
  const pages = new Pace()
  const at = tally.done
  const pagesAt = tally.fetched
  while (!stop.aborted) {
    const now = performance.now()
    done.add(tally.done - at, now)
    pages.add(tally.fetched - pagesAt, now)
    const view = await viewCrawl(local.ledger, tally.pending, agent)
    if (stop.aborted) return
    const [donePerMinute, pagesPerMinute = 0] = [done.perMinute(), pages.perMinute()]
    display.show(statusOf({ counts: tally.counts, totalKnown: fed(), view, donePerMinute, pagesPerMinute }))
    await sleep(CHECK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined)
  }
}
