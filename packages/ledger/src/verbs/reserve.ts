/** reserve: claims lanes that are due. */
import type { Gate } from '@decorum/protocol'
import { CLOSED_FACT, FACT } from '../calls.ts'
import { type List, laneName, readLaneName } from '../layout.ts'
import { decodeIn } from '../records/pending-text.ts'
import { readState, withRobotsFetch } from '../records/state-text.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { ReservedLane, ReserveRequest, ReserveResult } from '../types.ts'
import { MAX_ITEMS } from './batch.ts'

export async function reserve(
  scripts: Scripts,
  { reserveMs, outcomesLimit }: VerbSettings,
  { limit, aheadMs, inFlightLimit, peek, lane, list }: ReserveRequest,
): Promise<ReserveResult> {
  const { now, values } = await scripts.call('reserve', {
    limit: Math.min(limit, MAX_ITEMS),
    aheadMs,
    reserveMs,
    inFlightLimit,
    outcomesLimit,
    peek,
    lane: lane === undefined ? '' : laneName(lane.agent, lane.origin),
    list: list ?? '',
  })
  const [kind, detail] = values
  if (kind !== 'reserved') {
    const why = kind as Extract<ReserveResult, { kind: 'wait' }>['why']
    return { kind: 'wait', why, waitMs: detail === '' ? undefined : Number(detail) }
  }
  const wallAt = now - scripts.aheadMs()
  const lanes: ReservedLane[] = []
  for (let at = 2; at < values.length;) {
    const reserved = reservedLane(values, at, now, wallAt)
    lanes.push(reserved)
    at += HEADER + reserved.urls.length
  }
  return { kind: 'reserved', lanes, more: detail === '1' }
}

/** Parts before the URLs of a lane: its name, the facts, the state of its origin. */
const HEADER = 3

function reservedLane(values: string[], at: number, now: number, wallAt: number): ReservedLane {
  const [name, text, state] = [values[at] as string, values[at + 1] as string, values[at + 2] as string]
  const parts = text.split('|')
  const facts = FACT.read(parts)
  const notBefore = Number(facts.notBefore)
  const first = at + HEADER
  const lane: ReservedLane = {
    ...readLaneName(name),
    fence: Number(facts.fence),
    notBefore,
    waitMs: Math.max(0, notBefore - now),
    tries: Number(facts.attempts),
    robots: { version: Number(facts.version), state: readState(state) },
    urls: values.slice(first, first + Number(facts.urlCount)).map((entry) => decodeIn(facts.list as List, entry)),
    now,
    wallAt,
  }
  if (facts.delayMs !== '') lane.delayMs = Number(facts.delayMs)
  return parts.length === FACT.at.size ? lane : withClosedGates(lane, parts.slice(FACT.at.size))
}

function withClosedGates(lane: ReservedLane, parts: string[]): ReservedLane {
  const facts = CLOSED_FACT.read(parts)
  const blocked = parts.slice(CLOSED_FACT.at.blocked - 1).join('|') // an operator's text may contain a '|'
  const { version, state } = lane.robots
  return {
    ...lane,
    ...(facts.heldBy === '' ? {} : { heldBy: facts.heldBy as Gate }),
    ...(facts.closedUntil === '' ? {} : { closedUntil: Number(facts.closedUntil) }),
    ...(blocked === '' ? {} : { blocked: blocked.slice(1) }),
    ...(facts.refetch === '' ? {} : { refetch: true as const }),
    robots: { version, state: withRobotsFetch(state, facts.fetchFence, facts.fetchUntil, lane.now) },
  }
}
