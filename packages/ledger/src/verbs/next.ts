/** next: another request under leases that are held. */
import { NEXT_ANSWER } from '../calls.ts'
import { KIND, laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { LedgerGateName, NextAnswer, NextRequest } from '../types.ts'
import { leasedItems } from './confirm.ts'

export async function next(
  scripts: Scripts,
  { lane, kind, held, elapsedMs, delayMs, isRobots, turn }: NextRequest,
): Promise<NextAnswer> {
  const args = {
    lane: laneName(lane.agent, lane.origin),
    kind: kind === 'hop' ? KIND.hop : KIND.page,
    elapsedMs: elapsedMs.toFixed(3),
    delayMs,
    isRobots: isRobots === true ? 1 : 0,
    turn: turn?.at ?? '',
    endedAt: turn?.endedAt ?? '',
  }
  const { values } = await scripts.call('next', args, held.flatMap(leasedItems))
  const { answer, waitMs, gate, turn: at, endedAt } = NEXT_ANSWER.read(values)
  if (answer === 'granted' || answer === 'turn') return { kind: answer, waitMs: Number(waitMs), turn: { at, endedAt } }
  if (answer === 'wait') return { kind: answer, waitMs: Number(waitMs), gate: gate as LedgerGateName }
  return { kind: answer as 'busy' | 'stale' | 'blocked' | 'rules-changed' | 'refetch' }
}
