/** What the frontier of a storm sends in: never so little that a lane is without work, and several URLs of one site at a time. */
import { setTimeout as sleep } from 'node:timers/promises'
import { now as clock } from '@decorum/cli/synthetic-web'
import type { Book } from './book.ts'

const POUR_MS = 250
/** So much is poured in at once, */
const AHEAD_S = 20
/** and so much may wait: a fleet on a busy machine would never come to the end of more. */
const MOST_S = 60
/** URLs of one site in a row. */
export const OF_ONE_SITE = 8

/** @param rate  candidates a second */
export async function pour(book: Book, rate: number, urlOf: (n: number) => string, signal: AbortSignal): Promise<void> {
  const began = clock()
  for (let n = 0; !signal.aborted;) {
    const room = MOST_S * rate - (book.accepted.size - book.outcomes.size)
    const due = Math.min(Math.floor((AHEAD_S + (clock() - began) / 1_000) * rate), n + Math.floor(room))
    const batch: { id: string; url: string }[] = []
    for (; n < due; n++) batch.push({ id: `c${n}`, url: urlOf(n) })
    if (batch.length > 0) await book.pour(batch)
    await sleep(POUR_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** Site and position of the n-th URL: each is unlike all others. */
export function placeOf(n: number, sites: number): [site: number, k: number] {
  const block = Math.floor(n / OF_ONE_SITE)
  return [block % sites, Math.floor(block / sites) * OF_ONE_SITE + (n % OF_ONE_SITE)]
}

/** Never resolves: for a race with work that may fail. */
export const rejects = (work: Promise<unknown>): Promise<never> => new Promise((_, reject) => void work.catch(reject))
