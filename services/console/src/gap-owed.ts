/** The silence that a lane owes, and who decided it: site, floor, cap or operator. Pure. */
import type { OriginView } from '@decorum/ledger'
import type { AdaptiveGap, Agent } from '@decorum/protocol'
import { length } from './words.ts'

export type GapOwed = {
  gapMs: number
  /** floor: the agent's own · crawl-delay: the site's · cap: the site asked for more · operator: set by hand */
  from: 'floor' | 'crawl-delay' | 'cap' | 'operator'
  /** the site's crawl-delay, seconds, when the cap cut it */
  clampedFrom?: number
  /** after a slow answer the agent rests longer: factor × what the answer took, within [floorMs, capMs] */
  adaptive?: AdaptiveGap
}

/** What is learned from the rules in force; an operator's gap never goes below that. Without rules: the agent's floor. */
export function gapOwed(origin: OriginView, agent: Pick<Agent, 'key' | 'minGapMs' | 'adaptiveGap'>): GapOwed {
  const learned = origin.gaps.find((gap) => gap.agent === agent.key)
  const gapMs = learned?.gapMs ?? agent.minGapMs
  const adaptive = agent.adaptiveGap === undefined ? {} : { adaptive: agent.adaptiveGap }
  const clamped = learned?.clampedFrom === undefined ? adaptive : { clampedFrom: learned.clampedFrom, ...adaptive }
  if (origin.override !== undefined && origin.override.gapMs > gapMs) {
    return { gapMs: origin.override.gapMs, from: 'operator', ...clamped }
  }
  if (learned?.clampedFrom !== undefined) return { gapMs, from: 'cap', ...clamped }
  return { gapMs, from: gapMs > agent.minGapMs ? 'crawl-delay' : 'floor', ...adaptive }
}

export function gapSentence(gap: GapOwed, origin: OriginView): string {
  const { adaptive } = gap
  const more =
    adaptive === undefined
      ? ''
      : `; ${adaptive.factor} × the answer when that is longer, up to ${length(adaptive.capMs)}`
  return fixedSentence(gap, origin) + more
}

function fixedSentence({ gapMs, from, clampedFrom }: GapOwed, origin: OriginView): string {
  const site = clampedFrom === undefined ? '' : `the site asks for ${length(clampedFrom * 1_000)}`
  switch (from) {
    case 'operator': {
      const reason = origin.override?.reason ?? ''
      return `${length(gapMs)}, set by hand${reason === '' ? '' : `: ${reason}`}${site === '' ? '' : ` (${site})`}`
    }
    case 'cap':
      return `${length(gapMs)}, clamped: ${site}`
    case 'crawl-delay':
      return `${length(gapMs)}, the site's crawl-delay`
    case 'floor':
      return `${length(gapMs)}, the agent's own${origin.state.answer === undefined ? ' until there are rules' : ''}`
    default:
      return from satisfies never
  }
}
