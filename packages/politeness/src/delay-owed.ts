/** Computes the delay of a lane, and its source, from the ledger's facts: for pages, commands and the API alike. */
import type { AdaptiveDelay, Agent } from '@decorum/config'
import type { PolicyOfSite } from './site-policy.ts'

export type DelayOwed = {
  delayMs: number
  /**
   * floor: the agent's own · crawl-delay: the site's · cap: the agent's maximum, because the site asks for more · operator: set by an
   * operator · policy: of the site's policy · consent: the same, from a site that has consented to it
   */
  from: 'floor' | 'crawl-delay' | 'cap' | 'operator' | 'policy' | 'consent'
  /** the site's crawl-delay, seconds; set only if it was reduced to the agent's maximum */
  clampedFrom?: number
  /** after a slow answer the delay is longer: factor × the duration of the exchange, within [floorMs, capMs] */
  adaptive?: AdaptiveDelay
}

/** The ledger's facts about the delays of an origin. */
export type KnownDelays = {
  delays: readonly { agent: string; delayMs: number; clampedFrom?: number }[]
  override?: { delayMs: number; reason: string }
  policy?: PolicyOfSite
  state: { answer?: unknown; copy?: unknown }
}

/**
 * The delay of the rules in force, or the agent's own least delay if that is longer. A delay of the site's policy and one that an operator
 * has set count if they are longer. A policy with consent replaces all but the operator's delay.
 */
export function delayOwed(
  { delays, override, policy }: Pick<KnownDelays, 'delays' | 'override' | 'policy'>,
  agent: Pick<Agent, 'key' | 'minDelayMs' | 'adaptiveDelay'>,
): DelayOwed {
  const recorded = delays.find((delay) => delay.agent === agent.key)
  const clamped = recorded?.clampedFrom === undefined ? {} : { clampedFrom: recorded.clampedFrom }
  const byHandMs = override?.delayMs ?? 0
  if (policy?.delayMs !== undefined && policy.consent !== undefined)
    return policy.delayMs >= byHandMs
      ? { delayMs: policy.delayMs, from: 'consent', ...clamped }
      : { delayMs: byHandMs, from: 'operator', ...clamped }
  const adaptive = agent.adaptiveDelay === undefined ? {} : { adaptive: agent.adaptiveDelay }
  // The recorded delay is that of the rules. The agent's own delay is the present one, not the one at the time of recording.
  const byRulesMs = recorded?.delayMs ?? 0
  const delayMs = Math.max(byRulesMs, agent.minDelayMs)
  const byPolicyMs = policy?.delayMs ?? 0
  if (byHandMs > Math.max(delayMs, byPolicyMs)) return { delayMs: byHandMs, from: 'operator', ...clamped, ...adaptive }
  if (byPolicyMs > delayMs) return { delayMs: byPolicyMs, from: 'policy', ...clamped, ...adaptive }
  if (recorded?.clampedFrom !== undefined && byRulesMs === delayMs)
    return { delayMs, from: 'cap', ...clamped, ...adaptive }
  return { delayMs, from: byRulesMs > agent.minDelayMs ? 'crawl-delay' : 'floor', ...adaptive }
}

/** The delay and its source, for people. @param length  formats a length of time for the page or command */
export function delaySentence(delay: DelayOwed, known: KnownDelays, length: (ms: number) => string): string {
  const { adaptive } = delay
  const more =
    adaptive === undefined
      ? ''
      : `; ${adaptive.factor} × the answer when that is longer, up to ${length(adaptive.capMs)}`
  return fixedSentence(delay, known, length) + more
}

function fixedSentence(
  { delayMs, from, clampedFrom }: DelayOwed,
  { override, policy, state }: KnownDelays,
  length: (ms: number) => string,
): string {
  const site = clampedFrom === undefined ? '' : `the site asks for ${length(clampedFrom * 1_000)}`
  const siteText = site && ` (${site})`
  switch (from) {
    case 'operator': {
      const reason = override?.reason ?? ''
      return `${length(delayMs)}, set by hand${reason && `: ${reason}`}${siteText}`
    }
    case 'policy':
      return `${length(delayMs)}, by the policy for ${policy?.site}${siteText}`
    case 'consent':
      return `${length(delayMs)}, by the policy for ${policy?.site}, with consent: ${policy?.consent}${siteText}`
    case 'cap':
      return `${length(delayMs)}, clamped: ${site}`
    case 'crawl-delay':
      return `${length(delayMs)}, ${state.copy === undefined ? 'as its robots.txt asked before' : "the site's crawl-delay"}`
    case 'floor':
      return `${length(delayMs)}, the agent's own${state.answer === undefined ? ' until there are rules' : ''}`
    default:
      return from satisfies never
  }
}
