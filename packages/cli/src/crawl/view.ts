/** The reason why a crawl waits, and until when, from a few small calls to the ledger. */
import type { Agent } from '@decorum/config'
import { type Why, whyItWaits } from '@decorum/console/why'
import type { LedgerWithViews, OriginView, PartitionView } from '@decorum/ledger/views'
import { delayOwed } from '@decorum/politeness'

export type Site = {
  origin: string
  /** URLs of this crawl without outcome */
  waiting: number
  delayMs: number
  /** undefined: it has no lane yet */
  why: Why | undefined
  /** in back-off, or its robots.txt is unreachable */
  isBackingOff: boolean
  /** ms until its lane is due; 0 when it is */
  opensInMs: number
}

export type CrawlView =
  | {
      kind: 'seen'
      /** requests in flight, of the whole fleet */
      inFlight: number
      /** startup hold: nothing is reserved for this long, ms, because Redis was restarted */
      heldForMs: number
      /** the sites that were checked: those with most URLs left */
      sites: Site[]
    }
  | { kind: 'unavailable' }

/** Most sites that are checked. */
const MOST_SITES = 40

/**
 * @param pending  number of URLs without an outcome, by site
 * @param agent    the crawl's agent
 */
export async function viewCrawl(
  ledger: LedgerWithViews,
  pending: ReadonlyMap<string, number>,
  agent: Agent,
): Promise<CrawlView> {
  try {
    const chosen = heaviest(pending, MOST_SITES)
    const [parts, views] = await Promise.all([
      Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition))),
      Promise.all(chosen.map(([origin]) => ledger.viewOrigin(origin, [agent.key]))),
    ])
    const heldForMs = Math.max(0, ...parts.map((part: PartitionView) => (part.holdUntil ?? 0) - part.now))
    return {
      kind: 'seen',
      inFlight: parts.reduce((sum, part) => sum + part.inFlight, 0),
      heldForMs,
      sites: views.map((view, index) =>
        siteOf(view, agent, chosen[index]?.[1] ?? 0, parts[ledger.partitionOf(view.origin)]),
      ),
    }
  } catch {
    return { kind: 'unavailable' }
  }
}

function siteOf(view: OriginView, agent: Agent, waiting: number, part: PartitionView | undefined): Site {
  const [lane] = view.lanes
  const why = lane && whyItWaits(lane, view, part ?? view)
  const opensAt = Math.max(lane?.due ?? 0, view.backOff?.until ?? 0, view.paused?.until ?? 0)
  return {
    origin: view.origin,
    waiting,
    delayMs: delayOwed(view, agent).delayMs,
    why,
    isBackingOff: why?.state === 'back-off' || lane?.heldBy === 'robots-unreachable',
    opensInMs: Math.max(0, opensAt - view.now),
  }
}

/** The `most` largest entries, in one pass over a map that may be long. */
function heaviest(pending: ReadonlyMap<string, number>, most: number): [string, number][] {
  let kept: [string, number][] = []
  for (const entry of pending) {
    kept.push(entry)
    if (kept.length >= most * 8) kept = kept.sort(byWeight).slice(0, most)
  }
  return kept.sort(byWeight).slice(0, most)
}
const byWeight = (a: [string, number], b: [string, number]): number => b[1] - a[1]
