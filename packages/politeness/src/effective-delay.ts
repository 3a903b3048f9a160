/**
 * The silence that a lane owes after each request: `max(floor, min(crawl-delay, cap))` (docs/spec/design.md §2), and for agents that
 * want it a multiple of what the request took. Back-off has its own clock in the ledger.
 */
import type { Agent } from '@decorum/config'
import type { RobotsTxt } from '@decorum/robots'

export type Delay = {
  /** ms */
  delayMs: number
  /** crawl-delay as the site wrote it, seconds, when the cap cut it */
  clampedFrom?: number
}

/** Tokens that an agent answers to, most specific first. */
export const tokensOf = (agent: Agent): string[] => [agent.name, ...agent.fallbacks]

export function effectiveDelay(agent: Agent, rules: RobotsTxt | undefined): Delay {
  const seconds = agent.honourCrawlDelay ? rules?.crawlDelay(tokensOf(agent)) : undefined
  if (seconds === undefined) return { delayMs: agent.minDelayMs }
  const askedMs = Math.ceil(seconds * 1_000) // fractions of a millisecond round up: slower, never ruder
  const delayMs = Math.max(agent.minDelayMs, Math.min(askedMs, agent.maxDelayMs))
  return askedMs > agent.maxDelayMs ? { delayMs, clampedFrom: seconds } : { delayMs }
}

/**
 * What is owed after one exchange: `delayMs` as ever, or more when the answer was slow and the agent rests in proportion
 * (as Heritrix does: a site that takes its time is busy). Never less.
 * @param tookMs  the exchange from its look-up to its last octet; undefined when nothing was sent
 */
export function delayAfter(
  { adaptiveDelay }: Pick<Agent, 'adaptiveDelay'>,
  delayMs: number,
  tookMs: number | undefined,
): number {
  if (adaptiveDelay === undefined || tookMs === undefined) return delayMs
  const { factor, floorMs, capMs } = adaptiveDelay
  return Math.max(delayMs, Math.min(Math.max(Math.ceil(factor * tookMs), floorMs), capMs))
}
