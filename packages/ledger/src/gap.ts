/**
 * The silence that a lane owes after each request: `max(floor, min(crawl-delay, cap))` (design §2). The adaptive part,
 * back-off, has its own clock in the ledger.
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
