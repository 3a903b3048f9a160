/**
 * The delay after each request: `max(least, min(crawl-delay, longest))` (docs/spec/design.md §2), and for agents that want it a
 * multiple of what the request took. Back-off is kept apart, by the ledger.
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

/**
 * @param rules       those in force, if any
 * @param recordedMs  what the ledger has recorded of earlier rules; it still counts while none are in force
 */
export function effectiveDelay(agent: Agent, rules: RobotsTxt | undefined, recordedMs = 0): Delay {
  const delay = delayByRules(agent, rules)
  return { ...delay, delayMs: Math.max(agent.minDelayMs, delay.delayMs, recordedMs) }
}

/**
 * What the rules alone ask of an agent, within its longest delay; 0 where they ask for nothing. The ledger records this, and not the agent's
 * own delay, which may become shorter or longer before the rules change.
 */
export function delayByRules(agent: Agent, rules: RobotsTxt | undefined): Delay {
  const seconds = agent.honourCrawlDelay ? rules?.crawlDelay(tokensOf(agent)) : undefined
  if (seconds === undefined) return { delayMs: 0 }
  const askedMs = Math.ceil(seconds * 1_000) // fractions of a millisecond round up: slower, never ruder
  const delayMs = Math.min(askedMs, agent.maxDelayMs)
  return askedMs > agent.maxDelayMs ? { delayMs, clampedFrom: seconds } : { delayMs }
}

/**
 * The delay after one exchange: `delayMs`, or more when the answer was slow and the agent has an adaptive delay (as Heritrix
 * has: a site that takes its time is busy). Never less.
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
