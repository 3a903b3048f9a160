/** complete: the exchange of a started lease is over. */
import { isAssigned } from '@decorum/protocol'
import { type Arg, COMPLETION, DONE, LEAVING } from '../calls.ts'
import { KIND, laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { CompleteResult, Completion, SiteLoad } from '../types.ts'
import { kindOf, leaving } from './leaving.ts'

export async function complete(
  scripts: Scripts,
  { backOffMs, backOffMaxMs, backOffQuietMs, jitter }: VerbSettings,
  completions: Completion[],
): Promise<CompleteResult[]> {
  const args = { backOffMs, backOffMaxMs, backOffQuietMs }
  const { values } = await scripts.call(
    'complete',
    args,
    completions.flatMap((completion) => itemOf(completion, jitter)),
  )
  return values as CompleteResult[]
}

function itemOf(completion: Completion, jitter: () => number): Arg[] {
  const { agent, origin, fence, delayMs, elapsedMs, load, outcome, candidate, secondary } = completion
  const common = {
    lane: laneName(agent, origin),
    fence,
    delayMs,
    elapsedMs: elapsedMs === 0 ? 0 : elapsedMs.toFixed(3),
  }
  if (outcome !== undefined && candidate === undefined && load.kind === 'normal' && isAssigned(outcome.id))
    return DONE.write({ ...common, ending: 'done', json: JSON.stringify(outcome), kind: kindOf(outcome) })
  const items = [
    ...(outcome === undefined ? [] : leaving(outcome)),
    ...(candidate === undefined
      ? []
      : LEAVING.write({ json: JSON.stringify(candidate), kind: KIND.candidate, id: '' })),
  ]
  const stays = outcome === undefined && secondary !== true
  const leavingCount = items.length / LEAVING.at.size
  const item = { ...common, ending: stays ? 'again' : 'end', load: loadText(load, jitter), leaving: leavingCount }
  return [...COMPLETION.write(item), ...items]
}

function loadText(load: SiteLoad, jitter: () => number): string {
  if (load.kind === 'normal') return load.kind
  const retryAfterMs = load.kind === 'asked-for-less' ? (load.retryAfterMs ?? '') : ''
  return `${load.kind} ${jitter()} ${retryAfterMs}`
}
