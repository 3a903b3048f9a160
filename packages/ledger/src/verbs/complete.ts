/** complete: the exchange of a started lease has ended. */
import { isAssigned } from '@decorum/protocol'
import type { RetryAfter } from '@decorum/robots'
import { type Arg, COMPLETION, DONE, LEAVING, OVER } from '../calls.ts'
import { KIND, laneName } from '../layout.ts'
import { writeTarget } from '../records/pending-text.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { CompleteResult, Completion, SiteLoad } from '../types.ts'
import { batched, MAX_ITEMS } from './batch.ts'
import { kindOf, leaving } from './leaving.ts'

/** A completion, and the time since which it waits for others, on `clock.monotonic()`. */
type Ended = { completion: Completion; since: number }

/** A completion waits for others for at most this share of its delay: the next request of its lane is a whole delay away. */
const SHARE_OF_DELAY = 1 / 50
/** A shorter wait is not worth a timer, ms. */
const LEAST_WAIT_MS = 2

/**
 * Reports the ends of several exchanges in one call. Delays run from the ends themselves, so the wait for others does not lengthen them.
 */
export function completer(
  scripts: Scripts,
  settings: VerbSettings,
): (completion: Completion) => Promise<CompleteResult> {
  const tell = batched(settings.clock, 'complete', (ended: Ended[]) => complete(scripts, settings, ended), {
    most: MAX_ITEMS / 2,
    waits: ({ completion }) => waitOf(completion, settings.gatherMs),
  })
  return (completion) =>
    tell({ completion, since: settings.gatherMs === 0 ? Number.POSITIVE_INFINITY : settings.clock.monotonic() })
}

/**
 * How long a completion may wait for others, ms. A back-off that the site asked for is reported at once, because it also applies to other
 * lanes. The end of a secondary lease waits as well: most pages of `http:` sites hold their host's lane, and both are reported in one call.
 */
function waitOf({ load, delayMs }: Completion, gatherMs: number): number {
  const waits = load.kind === 'normal' ? Math.min(gatherMs, delayMs * SHARE_OF_DELAY) : 0
  return waits < LEAST_WAIT_MS ? 0 : waits
}

async function complete(
  scripts: Scripts,
  { clock, backOffMs, backOffMaxMs, backOffQuietMs, jitter }: VerbSettings,
  ended: Ended[],
): Promise<CompleteResult[]> {
  const args = { backOffMs, backOffMaxMs, backOffQuietMs }
  const now = clock.monotonic()
  const items = ended.flatMap(({ completion, since }) => {
    return itemOf(completion, completion.elapsedMs + Math.max(0, now - since), jitter)
  })
  const { values } = await scripts.call('complete', args, items)
  return values as CompleteResult[]
}

/** @param elapsedMs  time from the end of the exchange until now */
function itemOf(completion: Completion, elapsedMs: number, jitter: () => number): Arg[] {
  const { agent, origin, fence, delayMs, load, outcome, candidate, candidateAfter, secondary } = completion
  const common = {
    lane: laneName(agent, origin),
    fence,
    delayMs,
    elapsedMs: elapsedMs === 0 ? 0 : elapsedMs.toFixed(3),
  }
  if (outcome !== undefined && candidate === undefined && load.kind === 'normal' && isAssigned(outcome.id))
    return DONE.write({ ...common, ending: 'done', json: JSON.stringify(outcome), kind: kindOf(outcome) })
  if (secondary === true && outcome === undefined && candidate === undefined && load.kind === 'normal')
    return OVER.write({ ...common, ending: 'over' })
  const items = [
    ...(outcome === undefined ? [] : leaving(outcome)),
    ...(candidate === undefined
      ? []
      : LEAVING.write({
          json: writeTarget(candidate),
          kind: KIND.candidate,
          id: waitText(candidateAfter, candidate.expiresAt),
        })),
  ]
  const stays = outcome === undefined && secondary !== true
  const leavingCount = items.length / LEAVING.at.size
  const item = { ...common, ending: stays ? 'again' : 'end', load: loadText(load, jitter), leaving: leavingCount }
  return [...COMPLETION.write(item), ...items]
}

/** The wait of a candidate, as lua/lib/leaving.lua reads it. */
function waitText({ retryAfterMs, retryAfterAt }: RetryAfter = {}, expiresAt: number | undefined): string {
  if (retryAfterMs === undefined && retryAfterAt === undefined) return ''
  return `${retryAfterMs ?? ''} ${retryAfterAt ?? ''} ${expiresAt ?? ''}`
}

/** The load, as lua/lib/back-off.lua reads it. @param load  undefined: normal */
export function loadText(load: SiteLoad | undefined, jitter: () => number): string {
  if (load === undefined || load.kind === 'normal') return 'normal'
  const { retryAfterMs, retryAfterAt }: RetryAfter = load.kind === 'no-answer' ? {} : load
  return `${load.kind} ${jitter()} ${retryAfterMs ?? ''} ${retryAfterAt ?? ''}`
}
