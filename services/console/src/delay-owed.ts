/** The silence that a lane owes, and who decided it: site, floor, cap or operator. Pure. */

import type { AdaptiveDelay, Agent } from '@decorum/config'
import type { OriginView } from '@decorum/ledger'
import { length } from './words.ts'

export type DelayOwed = {
  delayMs: number
  /** floor: the agent's own · crawl-delay: the site's · cap: the site asked for more · operator: set by hand */
  from: 'floor' | 'crawl-delay' | 'cap' | 'operator'
  /** the site's crawl-delay, seconds, when the cap cut it */
  clampedFrom?: number
  /** after a slow answer the agent rests longer: factor × what the answer took, within [floorMs, capMs] */
  adaptive?: AdaptiveDelay
}

/** What is learned from the rules in force; an operator's delay never goes below that. Without rules: the agent's floor. */
export function delayOwed(origin: OriginView, agent: Pick<Agent, 'key' | 'minDelayMs' | 'adaptiveDelay'>): DelayOwed {
  const recorded = origin.delays.find((delay) => delay.agent === agent.key)
  const delayMs = recorded?.delayMs ?? agent.minDelayMs
  const adaptive = agent.adaptiveDelay === undefined ? {} : { adaptive: agent.adaptiveDelay }
  const clamped = recorded?.clampedFrom === undefined ? adaptive : { clampedFrom: recorded.clampedFrom, ...adaptive }
  if (origin.override !== undefined && origin.override.delayMs > delayMs) {
    return { delayMs: origin.override.delayMs, from: 'operator', ...clamped }
  }
  if (recorded?.clampedFrom !== undefined) return { delayMs, from: 'cap', ...clamped }
  return { delayMs, from: delayMs > agent.minDelayMs ? 'crawl-delay' : 'floor', ...adaptive }
}

export function delaySentence(delay: DelayOwed, origin: OriginView): string {
  const { adaptive } = delay
  const more =
    adaptive === undefined
      ? ''
      : `; ${adaptive.factor} × the answer when that is longer, up to ${length(adaptive.capMs)}`
  return fixedSentence(delay, origin) + more
}

function fixedSentence({ delayMs, from, clampedFrom }: DelayOwed, origin: OriginView): string {
  const site = clampedFrom === undefined ? '' : `the site asks for ${length(clampedFrom * 1_000)}`
  switch (from) {
    case 'operator': {
      const reason = origin.override?.reason ?? ''
      return `${length(delayMs)}, set by hand${reason === '' ? '' : `: ${reason}`}${site === '' ? '' : ` (${site})`}`
    }
    case 'cap':
      return `${length(delayMs)}, clamped: ${site}`
    case 'crawl-delay':
      return `${length(delayMs)}, the site's crawl-delay`
    case 'floor':
      return `${length(delayMs)}, the agent's own${origin.state.answer === undefined ? ' until there are rules' : ''}`
    default:
      return from satisfies never
  }
}
