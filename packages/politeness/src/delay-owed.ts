/** The delay of a lane as the ledger knows it, and what decided it. Pages, commands and the API all ask here. */
import type { AdaptiveDelay, Agent } from '@decorum/config'

export type DelayOwed = {
  delayMs: number
  /** floor: the agent's own · crawl-delay: the site's · cap: the site asked for more · operator: set by hand */
  from: 'floor' | 'crawl-delay' | 'cap' | 'operator'
  /** the site's crawl-delay, seconds, when the cap cut it */
  clampedFrom?: number
  /** after a slow answer the delay is longer: factor × what the answer took, within [floorMs, capMs] */
  adaptive?: AdaptiveDelay
}

/** What the ledger knows of an origin, as far as delays are concerned. */
export type KnownDelays = {
  delays: readonly { agent: string; delayMs: number; clampedFrom?: number }[]
  override?: { delayMs: number; reason: string }
  state: { answer?: unknown }
}

/**
 * What was recorded from the rules in force; without rules it is the agent's own least delay. A delay that an operator has
 * set counts where it is longer.
 */
export function delayOwed(
  { delays, override }: Pick<KnownDelays, 'delays' | 'override'>,
  agent: Pick<Agent, 'key' | 'minDelayMs' | 'adaptiveDelay'>,
): DelayOwed {
  const recorded = delays.find((delay) => delay.agent === agent.key)
  const delayMs = recorded?.delayMs ?? agent.minDelayMs
  const adaptive = agent.adaptiveDelay === undefined ? {} : { adaptive: agent.adaptiveDelay }
  const clamped = recorded?.clampedFrom === undefined ? adaptive : { clampedFrom: recorded.clampedFrom, ...adaptive }
  if (override !== undefined && override.delayMs > delayMs) {
    return { delayMs: override.delayMs, from: 'operator', ...clamped }
  }
  if (recorded?.clampedFrom !== undefined) return { delayMs, from: 'cap', ...clamped }
  return { delayMs, from: delayMs > agent.minDelayMs ? 'crawl-delay' : 'floor', ...adaptive }
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
  { override, state }: KnownDelays,
  length: (ms: number) => string,
): string {
  const site = clampedFrom === undefined ? '' : `the site asks for ${length(clampedFrom * 1_000)}`
  switch (from) {
    case 'operator': {
      const reason = override?.reason ?? ''
      return `${length(delayMs)}, set by hand${reason === '' ? '' : `: ${reason}`}${site === '' ? '' : ` (${site})`}`
    }
    case 'cap':
      return `${length(delayMs)}, clamped: ${site}`
    case 'crawl-delay':
      return `${length(delayMs)}, the site's crawl-delay`
    case 'floor':
      return `${length(delayMs)}, the agent's own${state.answer === undefined ? ' until there are rules' : ''}`
    default:
      return from satisfies never
  }
}
