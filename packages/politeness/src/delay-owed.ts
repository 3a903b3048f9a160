/** The delay of a lane as the ledger knows it, and what decided it. Pages, commands and the API all ask here. */
import type { AdaptiveDelay, Agent } from '@decorum/config'
import type { PolicyOfSite } from './site-policy.ts'

export type DelayOwed = {
  delayMs: number
  /**
   * floor: the agent's own · crawl-delay: the site's · cap: the site asked for more · operator: set by hand · policy: of the site ·
   * consent: the same, where the site has consented to it
   */
  from: 'floor' | 'crawl-delay' | 'cap' | 'operator' | 'policy' | 'consent'
  /** the site's crawl-delay, seconds, when the cap cut it */
  clampedFrom?: number
  /** after a slow answer the delay is longer: factor × what the answer took, within [floorMs, capMs] */
  adaptive?: AdaptiveDelay
}

/** What the ledger knows of an origin, as far as delays are concerned. */
export type KnownDelays = {
  delays: readonly { agent: string; delayMs: number; clampedFrom?: number }[]
  override?: { delayMs: number; reason: string }
  policy?: PolicyOfSite
  state: { answer?: unknown; copy?: unknown }
}

/**
 * What was recorded from the rules in force, or the agent's own least delay where that is longer. A delay of the site's policy and one that
 * an operator has set count where they are longer. What the site has consented to takes the place of all but the operator's.
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
  // What was recorded comes from the rules. The agent's own delay is owed as it is now, whatever it was when they were recorded.
  const byRulesMs = recorded?.delayMs ?? 0
  const delayMs = Math.max(byRulesMs, agent.minDelayMs)
  const byPolicyMs = policy?.delayMs ?? 0
  if (byHandMs > Math.max(delayMs, byPolicyMs)) return { delayMs: byHandMs, from: 'operator', ...clamped, ...adaptive }
  if (byPolicyMs > delayMs) return { delayMs: byPolicyMs, from: 'policy', ...clamped, ...adaptive }
  if (recorded?.clampedFrom !== undefined && byRulesMs === delayMs)
    return { delayMs, from: 'cap', ...clamped, ...adaptive }
  return { delayMs, from: byRulesMs > agent.minDelayMs ? 'crawl-delay' : 'floor', ...adaptive }
}

/** The delay and what decided it, for people. @param length  how the reader's page or command writes a length of time */
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
  const asked = site && ` (${site})`
  switch (from) {
    case 'operator': {
      const reason = override?.reason ?? ''
      return `${length(delayMs)}, set by hand${reason && `: ${reason}`}${asked}`
    }
    case 'policy':
      return `${length(delayMs)}, by the policy for ${policy?.site}${asked}`
    case 'consent':
      return `${length(delayMs)}, by the policy for ${policy?.site}, with consent: ${policy?.consent}${asked}`
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
