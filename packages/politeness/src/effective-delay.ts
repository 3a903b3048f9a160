/**
 * Computes the delay after each request: `max(least, min(crawl-delay, longest))` (docs/spec/design.md §2), and for agents with an adaptive
 * delay a multiple of the duration of the request. Back-off is separate, in the ledger.
 */
import type { Agent } from '@decorum/config'
import type { RobotsTxt } from '@decorum/robots'

export type Delay = {
  /** ms */
  delayMs: number
  /** crawl-delay as the site wrote it, seconds; set only if it was reduced to the agent's maximum */
  clampedFrom?: number
}

/** The product tokens of an agent, most specific first. */
export const tokensOf = (agent: Agent): string[] => [agent.name, ...agent.fallbacks]

/**
 * @param rules       the rules in force, if any
 * @param recordedMs  delay of earlier rules as the ledger recorded it, for a time without rules in force; the longest delay counts
 */
export function effectiveDelay(agent: Agent, rules: RobotsTxt | undefined, recordedMs = 0): Delay {
  const delay = delayByRules(agent, rules)
  return { ...delay, delayMs: Math.max(agent.minDelayMs, delay.delayMs, recordedMs) }
}

/**
 * The delay of the rules alone, within the agent's longest delay; 0 if they have none. The ledger records this, and not the agent's own
 * delay, which may become shorter or longer before the rules change.
 */
export function delayByRules(agent: Agent, rules: RobotsTxt | undefined): Delay {
  const seconds = agent.honourCrawlDelay ? rules?.crawlDelay(tokensOf(agent)) : undefined
  if (seconds === undefined) return { delayMs: 0 }
  const byRulesMs = Math.ceil(seconds * 1_000) // a fraction of a millisecond rounds up: slower, never ruder
  const delayMs = Math.min(byRulesMs, agent.maxDelayMs)
  return byRulesMs > agent.maxDelayMs ? { delayMs, clampedFrom: seconds } : { delayMs }
}

/**
 * The delay after one exchange: `delayMs`, or more when the answer was slow and the agent has an adaptive delay (like Heritrix: a slow site
 * is busy). Never less.
 * @param tookMs  the exchange from its look-up to its last byte; undefined when nothing was sent
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
