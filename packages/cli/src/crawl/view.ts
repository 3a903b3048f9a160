/** The reason why a crawl waits, and until when, from a few small calls to the ledger. */
import type { Agent } from '@decorum/config'
import type { LedgerWithViews, OriginView, PartitionView } from '@decorum/ledger/views'
import { delayOwed } from '@decorum/politeness'
import { defined } from '@decorum/runtime/defined'

export type Site = {
  origin: string
  /** URLs of this crawl without outcome */
  waiting: number
  delayMs: number
  /** the site's crawl-delay, seconds, if the maximum has cut it */
  clampedFrom?: number
  state: 'in-flight' | 'open' | 'silent' | 'backing-off' | 'no-robots' | 'paused'
  /** requests in a row that were refused or unanswered; 0 for a site in back-off: it has asked for less */
  failures: number
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
      sites: views.map((view, index) => siteOf(view, agent, chosen[index]?.[1] ?? 0)),
    }
  } catch {
    return { kind: 'unavailable' }
  }
}

function siteOf(view: OriginView, agent: Agent, waiting: number): Site {
  const [lane] = view.lanes
  const { delayMs, clampedFrom } = delayOwed(view, agent)
  const opensAt = Math.max(lane?.due ?? 0, view.backOff?.until ?? 0, view.paused?.until ?? 0)
  return {
    origin: view.origin,
    waiting,
    delayMs,
    ...defined({ clampedFrom }),
    state: stateOf(view),
    failures: view.failures ?? 0,
    opensInMs: Math.max(0, opensAt - view.now),
  }
}

function stateOf({ lanes: [lane], backOff, paused, now }: OriginView): Site['state'] {
  if (lane?.state === 'in-flight' || lane?.state === 'reserved') return 'in-flight'
  if (paused !== undefined && paused.until > now) return 'paused'
  if (lane?.heldBy === 'robots-unreachable') return 'no-robots'
  if ((backOff !== undefined && backOff.until > now) || lane?.heldBy === 'back-off') return 'backing-off'
  return lane?.due !== undefined && lane.due > now ? 'silent' : 'open'
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
