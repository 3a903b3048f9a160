/** URLs that earlier runs of a resumed crawl have left in Redis: those still stored must not be enqueued again. */
import { createReadStream, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { LedgerUnavailableError } from '@decorum/ledger'
import { type LedgerWithViews, targetName } from '@decorum/ledger/views'
import { readUrl } from '@decorum/protocol'
import { linesOf } from '../lines.ts'
import type { OutFolder } from './out-folder.ts'
import type { Tally, WaitingTarget } from './tally.ts'

export type Leftovers = {
  /** whether the line or target of this id is stored */
  has(id: string): boolean
  /** redirect targets without an outcome at the time of the check; targets found later are certainly stored */
  targets: readonly WaitingTarget[]
}

export const NO_LEFTOVERS: Leftovers = { has: () => false, targets: [] }
const CHECK_MS = 100
/** Ids per call to the ledger, which itself sets no limit. */
const BATCH = 1_000

/**
 * Waits until the gateways have stored the URLs of earlier runs, then checks which lines and targets are stored. A URL that is neither
 * stored nor among the outcomes read afterwards has been lost, or was never enqueued. The order matters: a line whose outcome came
 * between the check and the enqueueing would otherwise be fetched twice.
 * @param patienceMs  after this time the check is made even if gateways have not stored all URLs: a URL may then be fetched twice
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
      if (!(error instanceof LedgerUnavailableError)) throw error // Redis is unavailable: the crawl continues when it answers again
    }
    await sleep(CHECK_MS, undefined, { signal: stop }).catch(() => undefined)
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
  if (!existsSync(folder.list)) return // the list was standard input, and no line of it was kept
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
