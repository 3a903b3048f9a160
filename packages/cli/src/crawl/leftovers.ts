/** What earlier runs of a resumed crawl have left in Redis: URLs that are still stored must not be enqueued again. */
import { createReadStream, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { LedgerUnavailableError } from '@decorum/ledger'
import { type LedgerWithViews, targetName } from '@decorum/ledger/views'
import { readUrl } from '@decorum/protocol'
import { linesOf } from '../lines.ts'
import type { OutFolder } from './out-folder.ts'
import type { Tally, WaitingTarget } from './tally.ts'

export type Leftovers = {
  /** whether a line or target of this id is stored */
  has(id: string): boolean
  /** targets of redirects without an outcome, as of the look: of those that are heard of later it is known that they are stored */
  targets: readonly WaitingTarget[]
}

export const NO_LEFTOVERS: Leftovers = { has: () => false, targets: [] }
const LOOK_MS = 100
/** Ids that the ledger is asked for at a time; it has no bound of its own. */
const BATCH = 1_000

/**
 * Waits until the gateways have stored what earlier runs enqueued, and looks then which lines and targets are stored. What is
 * neither stored nor among the outcomes read afterwards has been lost, or was never enqueued: without this order, a line whose
 * outcome comes between the look and the enqueueing would be fetched twice.
 * @param patienceMs  where no gateway stores anything for so long, the look is taken all the same: a URL may then be fetched twice
 */
export async function leftoversOf(
  folder: OutFolder,
  tally: Tally,
  ledger: LedgerWithViews,
  stop: AbortSignal,
  patienceMs = 60_000,
): Promise<Leftovers> {
  const end = performance.now() + patienceMs
  while (!stop.aborted) {
    try {
      if ((await ledger.waitingForIntake()) === 0 || performance.now() >= end)
        return await storedOf(folder, tally, ledger)
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error // Redis is away: the crawl goes on when it is back
    }
    await sleep(LOOK_MS, undefined, { signal: stop }).catch(() => undefined)
  }
  return NO_LEFTOVERS
}

async function storedOf(folder: OutFolder, tally: Tally, ledger: LedgerWithViews): Promise<Leftovers> {
  const targets = tally.waitingTargets()
  const stored = new Set<string>()
  const later = targets.length === 0 ? undefined : await ledger.laterTargets()
  for (const { id } of targets) if (later?.has(targetName(id, folder.note.crawl))) stored.add(id)
  for await (const some of batched(unfinishedOf(folder, tally, targets))) {
    const found = await ledger.areStored(some)
    for (const [at, { id }] of some.entries()) if (found[at] === true) stored.add(id)
  }
  return { has: (id) => stored.has(id), targets }
}

type Named = { origin: string; id: string; crawl: string }

/** Lines and targets without an outcome. A line that is no URL is never stored. */
async function* unfinishedOf(
  folder: OutFolder,
  tally: Tally,
  targets: readonly WaitingTarget[],
): AsyncGenerator<Named> {
  const { crawl } = folder.note
  for (const { id, url } of targets) yield* named(id, url, crawl)
  if (!existsSync(folder.list)) return // standard input, of which nothing was kept
  for await (const { number, text } of linesOf(createReadStream(folder.list)))
    if (!tally.hasOutcome(number)) yield* named(tally.idOf(number), text, crawl)
}

function* named(id: string, url: string, crawl: string): Generator<Named> {
  const at = readUrl(url)
  if (!('refused' in at)) yield { origin: at.origin, id, crawl }
}

async function* batched<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
