/** One party's way with one origin's robots.txt: one fetch at a time, and no more often than agreed (spec/robots.md §6). */
import { type Policy, parseRetryAfter } from '@decorum/robots'
import type { Offence } from './report.ts'
import type { RobotsFetch, Visit } from './robots-fetches.ts'

export type Blame = (visit: Visit, offence: Offence, because: string) => void

/**
 * @param retryMs     first retry of an outage, when the operator has set it otherwise than the policy
 * @param afterCutMs  how late a site may notice that a visitor has gone, ms, where its record does not say
 */
export function judgeRobots(
  fetches: RobotsFetch[],
  retryMs: number | undefined,
  afterCutMs: number,
  blame: Blame,
): void {
  const byStart = fetches.toSorted((a, b) => a.start - b.start)
  let openUntil = Number.NEGATIVE_INFINITY
  let failures = 0
  let busy = 0
  for (const [index, fetch] of byStart.entries()) {
    const previous = byStart[index - 1]
    const { policy } = fetch.first.visitor
    if (fetch.start < openUntil) {
      blame(
        fetch.first,
        'robots-overlap',
        `another fetch of it was open for another ${(openUntil - fetch.start).toFixed(1)} ms`,
      )
    } else if (previous) {
      const kept = fetch.start - previous.end
      const owed = pauseAfter(previous, { policy, failures, busy, retryMs })
      const last = previous.requests.at(-1)
      const late = last?.cut ? (last.late ?? afterCutMs) : 0
      if (kept + late < owed)
        blame(
          fetch.first,
          'robots-too-often',
          `${seconds(kept)} after ${nameOf(previous)}, ${seconds(owed)} were agreed`,
        )
    }
    openUntil = Math.max(openUntil, fetch.end)
    const failed = fetch.answers.some((answer) => isOutage(answer.kind, policy))
    failures = failed ? failures + 1 : 0
    busy = fetch.answers.some((answer) => answer.kind === 'busy') ? busy + 1 : 0
  }
}

type History = { policy: Policy; failures: number; busy: number; retryMs: number | undefined }

/** The least pause after an answer, ms. Where the record leaves two answers open, the shorter pause. */
function pauseAfter(fetch: RobotsFetch, history: History): number {
  return Math.min(
    ...fetch.answers.map((answer) => {
      const { policy, failures, busy, retryMs } = history
      if (answer.kind === 'unknown') return 0
      if (!isOutage(answer.kind, policy)) return policy.leastFreshMs * policy.refreshAtShare
      const asked = 'retryAfter' in answer ? parseRetryAfter(answer.retryAfter, fetch.end) : undefined
      const first = retryMs ?? policy.firstRetryMs
      const slow = doubled(first, failures, policy.longestRetryMs)
      // 503 alone is asked for more often, never more rarely.
      const quick = doubled(Math.min(first, policy.firstBusyRetryMs), busy, policy.longestBusyRetryMs)
      return Math.max(asked ?? 0, answer.kind === 'busy' ? Math.min(slow, quick) : slow)
    }),
  )
}

const doubled = (first: number, times: number, longest: number): number =>
  Math.min(first * 2 ** Math.max(times - 1, 0), Math.max(longest, first))

const isOutage = (kind: RobotsFetch['answers'][number]['kind'], policy: Policy): boolean =>
  kind !== 'unknown' && kind !== 'renewed' && policy.answers[kind] === 'unreachable'

const nameOf = (fetch: RobotsFetch): string => `the answer ${fetch.requests.at(-1)?.status || '(none)'}`
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(3)} s`
