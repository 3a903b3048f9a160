/**
 * The silence that a lane owes after each request: `max(floor, min(crawl-delay, cap))` (docs/spec/design.md §2), and for agents that
 * want it a multiple of what the request took. Back-off has its own clock in the ledger.
 */
import type { Agent } from '@decorum/protocol'
import type { RobotsTxt } from '@decorum/robots'

export type Gap = {
  /** ms */
  gapMs: number
  /** crawl-delay as the site wrote it, seconds, when the cap cut it */
  clampedFrom?: number
}

/** Tokens that an agent answers to, most specific first. */
export const tokensOf = (agent: Agent): string[] => [agent.name, ...agent.fallbacks]

export function gapFor(agent: Agent, rules: RobotsTxt | undefined): Gap {
  const seconds = agent.honourCrawlDelay ? rules?.crawlDelay(tokensOf(agent)) : undefined
  if (seconds === undefined) return { gapMs: agent.minGapMs }
  const askedMs = Math.ceil(seconds * 1_000) // fractions of a millisecond round up: slower, never ruder
  const gapMs = Math.max(agent.minGapMs, Math.min(askedMs, agent.maxGapMs))
  return askedMs > agent.maxGapMs ? { gapMs, clampedFrom: seconds } : { gapMs }
}

/**
 * What is owed after one exchange: `gapMs` as ever, or more when the answer was slow and the agent rests in proportion
 * (as Heritrix does: a site that takes its time is busy). Never less.
 * @param tookMs  the exchange from its look-up to its last octet; undefined when nothing was sent
 */
export function gapAfter(
  { adaptiveGap }: Pick<Agent, 'adaptiveGap'>,
  gapMs: number,
  tookMs: number | undefined,
): number {
  if (adaptiveGap === undefined || tookMs === undefined) return gapMs
  const { factor, floorMs, capMs } = adaptiveGap
  return Math.max(gapMs, Math.min(Math.max(Math.ceil(factor * tookMs), floorMs), capMs))
}
