/** What a crawl waits for, and until when, by a few small calls to the ledger. */
import type { Agent } from '@decorum/config'
import type { LedgerWithViews, OriginView, PartitionView } from '@decorum/ledger/views'
import { delayOwed } from '@decorum/politeness'
import { messageOf } from '../exit.ts'

export type Site = {
  origin: string
  /** URLs of this crawl without outcome */
  waiting: number
  delayMs: number
  /** the site's own crawl-delay, seconds, where the cap has cut it */
  clampedFrom?: number
  state: 'in-flight' | 'open' | 'silent' | 'backing-off' | 'no-robots' | 'paused'
  /** requests in a row that were turned away or got no answer; 0 of a site that backs off has asked for less */
  failures: number
  /** until its lane is due, ms; 0 when it is */
  opensInMs: number
}

export type Look =
  | {
      kind: 'seen'
      /** requests on their way, of the whole fleet */
      inFlight: number
      /** startup hold: nothing is reserved for so long, ms, because Redis was restarted */
      heldForMs: number
      /** the sites looked at: those with most URLs left; all of them when `complete` */
      sites: Site[]
      complete: boolean
    }
  | { kind: 'blind'; why: string }

/** Sites looked at. */
const MOST_SITES = 40

/**
 * @param pending  sites with URLs of this crawl that have no outcome yet, and how many
 * @param agent    the crawl's
 */
export async function lookAround(
  ledger: LedgerWithViews,
  pending: ReadonlyMap<string, number>,
  agent: Agent,
): Promise<Look> {
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
      complete: chosen.length === pending.size,
    }
  } catch (error) {
    return { kind: 'blind', why: messageOf(error) }
  }
}

function siteOf(view: OriginView, agent: Agent, waiting: number): Site {
  const [lane] = view.lanes
  const delay = delayOwed(view, agent)
  const opensAt = Math.max(lane?.due ?? 0, view.backOff?.until ?? 0, view.paused?.until ?? 0)
  return {
    origin: view.origin,
    waiting,
    delayMs: delay.delayMs,
    ...(delay.clampedFrom === undefined ? {} : { clampedFrom: delay.clampedFrom }),
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

/** The `most` largest, in one pass over a map that may be long. */
function heaviest(pending: ReadonlyMap<string, number>, most: number): [string, number][] {
  let kept: [string, number][] = []
  for (const entry of pending) {
    kept.push(entry)
    if (kept.length >= most * 8) kept = kept.sort(byWeight).slice(0, most)
  }
  return kept.sort(byWeight).slice(0, most)
}
const byWeight = (a: [string, number], b: [string, number]): number => b[1] - a[1]
