/**
 * Resolves text from the search box: a URL, a host or the id of a candidate. A host or an origin leads to the page of its origin; a search
 * without a result is answered with a sentence.
 */
import type { LedgerWithViews, OriginView } from '@decorum/ledger/views'
import { type CrawlUrl, DEFAULT_CRAWL, MAX_ID_CHARS, printableUrl, readUrl } from '@decorum/protocol'
import { type CandidateStatus, candidateStatus } from './candidate-status.ts'

export type FoundCandidate = CandidateStatus & { crawl: string }
export type Found =
  | { kind: 'origin'; origin: string }
  | { kind: 'candidates'; found: FoundCandidate[] }
  /** `origins`: origins that may have been meant; `wrong`: the text is invalid */
  | { kind: 'nothing'; sentence: string; origins: string[]; wrong: boolean }

/** Crawls that are searched for candidates, the default one first. */
const CRAWLS_READ = 20

/** @param agents  keys of the agents whose lanes are searched */
export async function find(ledger: LedgerWithViews, agents: readonly string[], typed: string): Promise<Found> {
  const shown = `'${printableUrl(typed, 200)}'`
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(typed)?.[1]
  if (scheme !== undefined && !/^https?$/i.test(scheme))
    return nothing(`${shown} is no URL of http or https: nothing else is ever fetched.`, [], true)
  const urls = scheme === undefined ? [`https://${typed}`, `http://${typed}`] : [typed]
  const read: CrawlUrl[] = []
  for (const url of urls.map(readUrl)) {
    if (!('refused' in url)) read.push(url)
    else if (scheme !== undefined) return nothing(`${shown} cannot be fetched at all: ${url.refused}.`, [], true)
  }
  const origins = read.map(({ origin }) => origin)
  const hasPath = /[/?#]/.test(scheme === undefined ? typed : typed.slice(scheme.length + 3))
  if (hasPath) {
    for (const at of read) {
      const { found, notSearched } = await inCrawls(ledger, agents, { at })
      if (found.length > 0) return { kind: 'candidates', found }
      if (scheme !== undefined)
        return nothing(`${shown} was not found. Not searched: ${notSearched.join('; ')}.`, origins)
    }
  } else {
    const origin = scheme === undefined ? await firstKnown(ledger, agents, origins) : origins[0]
    if (origin !== undefined) return { kind: 'origin', origin }
  }
  if (typed.length > MAX_ID_CHARS) return nothing(`${shown} is no URL and no host, and too long for an id.`, [], true)
  const { found, notSearched } = await inCrawls(ledger, agents, { id: typed })
  if (found.length > 0) return { kind: 'candidates', found }
  const isHost = read.length > 0 && /[.:]/.test(typed)
  const what = isHost ? `No URL of ${shown} has come in` : `${shown} is no host that has come in`
  return nothing(
    `${what}, and no candidate with this id was found. Not searched: ${notSearched.join('; ')}.`,
    isHost ? origins : [],
  )
}

const nothing = (sentence: string, origins: string[], wrong = false): Found => ({
  kind: 'nothing',
  sentence,
  origins,
  wrong,
})

/** The origin with most URLs among those that are known: that have URLs, or a robots.txt answer. */
async function firstKnown(
  ledger: LedgerWithViews,
  agents: readonly string[],
  origins: string[],
): Promise<string | undefined> {
  const views = await Promise.all(origins.map((origin) => ledger.viewOrigin(origin, [...agents])))
  const waiting = ({ lanes }: OriginView): number => lanes.reduce((sum, lane) => sum + lane.waiting, 0)
  const known = views.filter((view) => view.state.answer !== undefined || waiting(view) > 0)
  return known.sort((a, b) => waiting(b) - waiting(a))[0]?.origin
}

async function inCrawls(
  ledger: LedgerWithViews,
  agents: readonly string[],
  which: Pick<Parameters<typeof candidateStatus>[1], 'id' | 'at'>,
): Promise<{ found: FoundCandidate[]; notSearched: string[] }> {
  const names = [DEFAULT_CRAWL, ...(await ledger.crawls()).map(({ name }) => name)]
  let first: string[] | undefined
  for (const crawl of [...new Set(names)].slice(0, CRAWLS_READ)) {
    const { found, notSearched } = await candidateStatus(ledger, { ...which, agents, crawl })
    if (found.length > 0) return { found: found.map((one) => ({ ...one, crawl })), notSearched: [] }
    first ??= notSearched
  }
  return { found: [], notSearched: first ?? [] }
}
