/** Judges how one party fetches one origin's robots.txt: one fetch at a time, and no more often than the profile allows. */
import { type Policy, parseRetryAfter } from '@decorum/robots'
import { type Answer, answerOf, type Bodies } from './answers.ts'
import type { Chains } from './chains.ts'
import type { Exchanges } from './columns.ts'
import type { Fetches } from './fetches.ts'
import type { Findings } from './findings.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

type Judge = {
  exchanges: Exchanges
  chains: Chains
  bodies: Bodies
  fetches: Fetches
  findings: Findings
  lanes: Lanes
  /** wait before the first retry of an outage, ms; undefined: as in the policy */
  retryMs: number | undefined
  meter: Meter
}

/** Number of consecutive failures so far, and of consecutive answers "busy" (503). */
type Row = { failures: number; busy: number }

export function judgeRobots(place: number, judge: Judge): void {
  const { exchanges, chains, fetches, findings, lanes } = judge
  let openUntil = Number.NEGATIVE_INFINITY
  let openBy = -1
  /** the latest fetch that was no hop, and the least pause after it, ms */
  let previous: { row: number; endMin: number; owed: number; status: number } | undefined
  /** the counts if every doubtful fetch was read, and if every one was given up */
  let read: Row = { failures: 0, busy: 0 }
  let givenUp: Row = { failures: 0, busy: 0 }
  for (let at = fetches.first(place); at < fetches.beyond(place); at++) {
    judge.meter.steps++
    const number = fetches.started(at)
    const row = chains.firstOf(number)
    const last = chains.lastOf(number)
    const start = exchanges.startMax(row)
    const endMin = exchanges.endMin(last)
    const isHop = chains.isHop(row)
    if (start < openUntil) {
      const early = openUntil - start
      findings.blame({
        row,
        offence: 'robots-overlap',
        share: early / (early + 1_000),
        after: openBy,
        since: openUntil,
        because: () => `another fetch of it was in flight for another ${early.toFixed(1)} ms`,
      })
    } else if (previous !== undefined && !isHop && start - previous.endMin < previous.owed) {
      const { endMin: since, owed, status, row: before } = previous
      findings.blame({
        row,
        offence: 'robots-too-often',
        share: 1 - (start - since) / owed,
        after: before,
        since,
        because: () => `${seconds(start - since)} after the answer ${status || '(none)'}; ${seconds(owed)} is required`,
      })
    }
    if (endMin > openUntil) {
      openUntil = endMin
      openBy = row
    }
    if (isHop) continue
    const { policy } = lanes.agent(exchanges.lane[row] as number)
    const answer = answerOf(number, place, judge)
    const retryAfter = (): number => parseRetryAfter(exchanges.header(last), endMin) ?? 0
    const pause = (given: Answer['kind'], counted: Row): number =>
      pauseAfter(given, policy, counted, judge.retryMs, retryAfter)
    read = counted(answer.kind, policy, read)
    let owed = pause(answer.kind, read)
    const other = answer.doubtful ? 'no-answer' : answer.kind
    givenUp = counted(other, policy, givenUp)
    owed = Math.min(owed, pause(other, givenUp))
    previous = { row, endMin, owed, status: exchanges.status[last] as number }
  }
}

const counted = (kind: Answer['kind'], policy: Policy, { failures, busy }: Row): Row => ({
  failures: isOutage(kind, policy) ? failures + 1 : 0,
  busy: kind === 'busy' ? busy + 1 : 0,
})

/** The least pause after an answer, ms. */
function pauseAfter(
  kind: Answer['kind'],
  policy: Policy,
  { failures, busy }: Row,
  retryMs: number | undefined,
  retryAfterMs: () => number,
): number {
  const first = retryMs ?? policy.firstRetryMs
  const firstBusy = Math.min(first, policy.firstBusyRetryMs)
  const afterGood = policy.leastFreshMs * policy.refreshAtShare
  // A redirect whose target is not in the record: at least this pause is due, whatever the result.
  if (kind === 'unknown') return Math.min(afterGood, firstBusy)
  if (!isOutage(kind, policy)) return afterGood
  const slow = doubled(first, failures, policy.longestRetryMs)
  // After a 503 the retry may come sooner than after another failure, never later.
  const quick = doubled(firstBusy, busy, policy.longestBusyRetryMs)
  return Math.max(retryAfterMs(), kind === 'busy' ? Math.min(slow, quick) : slow)
}

const doubled = (first: number, times: number, longest: number): number =>
  Math.min(first * 2 ** Math.max(times - 1, 0), Math.max(longest, first))

const isOutage = (kind: Answer['kind'], policy: Policy): boolean =>
  kind !== 'unknown' && kind !== 'renewed' && policy.answers[kind] === 'unreachable'

const seconds = (ms: number): string => `${Number((ms / 1_000).toFixed(3))} s`
