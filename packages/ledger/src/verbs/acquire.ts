/** acquire: a secondary lease, for a request that none of the lane's URLs needs. */
import { ACQUIRED } from '../calls.ts'
import { KIND, laneName, readLaneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { AcquireAnswer, LaneRef, LedgerGateName, SecondaryRequest } from '../types.ts'

export async function acquire(
  scripts: Scripts,
  { leaseMs }: VerbSettings,
  { lanes, kind, delayMs, of, isRobots, by, paceLane }: SecondaryRequest,
): Promise<AcquireAnswer> {
  const nameOf = (lane: LaneRef | undefined): string => (lane === undefined ? '' : laneName(lane.agent, lane.origin))
  const args = {
    leaseMs,
    delayMs,
    kind: kind === 'pace-group' ? KIND.paceGroup : KIND.hop,
    of: nameOf(of),
    isRobots: isRobots === true ? 1 : 0,
    requester: nameOf(by),
    paceLane: nameOf(paceLane),
  }
  const { values } = await scripts.call('acquire', args, lanes.map(nameOf))
  const { answer, value, delayMs: owed, lane, paceFence, paceDelayMs } = ACQUIRED.read(values)
  if (answer === 'blocked') return { kind: answer }
  if (answer === 'wait') return { kind: answer, waitMs: Number(value), gate: owed as LedgerGateName }
  const granted = {
    kind: 'granted' as const,
    lane: readLaneName(lane),
    fence: Number(value),
    delayMs: Number(owed),
    leaseMs,
  }
  if (paceFence === '') return granted
  return { ...granted, paceLane: { fence: Number(paceFence), delayMs: Number(paceDelayMs) } }
}
