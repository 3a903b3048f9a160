/** take: what lua/take.lua says of lanes and their origins, as values. */
import type { Gate } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import { decodeEntry } from './entry.ts'
import { laneName, readLaneName } from './keys.ts'
import { type LaneSettings, MAX_ITEMS } from './lanes.ts'
import type { Scripts } from './scripts.ts'
import { readState } from './state-text.ts'
import type { LaneRef, ReservedLane, ReserveResult } from './types.ts'

export type ReserveRequest = {
  limit: number
  aheadMs: number
  inFlightLimit: number
  peek: number
  /** this lane alone, due or not, and of it this list */
  lane?: LaneRef
  list?: 'q' | 'h'
}

export async function reserve(
  scripts: Scripts,
  settings: LaneSettings,
  request: ReserveRequest,
): Promise<ReserveResult> {
  const answer = await scripts.call(
    'reserve',
    Math.min(request.limit, MAX_ITEMS),
    request.aheadMs,
    Math.min(settings.reserveMs, settings.leaseMs), // begin leaves inflight alone: a lease must not end before its reservation
    request.inFlightLimit,
    settings.outcomesLimit,
    request.peek,
    request.lane === undefined ? '' : laneName(request.lane.agent, request.lane.origin),
    request.list ?? '',
  )
  if (answer[2] !== 'taken') {
    const why = answer[2] as Extract<ReserveResult, { kind: 'wait' }>['why']
    return { kind: 'wait', why, waitMs: answer[3] === '' ? undefined : Number(answer[3]) }
  }
  const now = Number(answer[1])
  const wallAt = now - scripts.aheadMs()
  const lanes: ReservedLane[] = []
  for (let at = 4; at < answer.length; ) {
    const lane = reservedLane(answer, at, now, wallAt)
    lanes.push(lane)
    at += HEADER + lane.heads.length
  }
  return { kind: 'reserved', lanes, more: answer[3] === '1' }
}

/** What stands before the heads of a lane: its name, the facts, the state of its origin. */
const HEADER = 3

function reservedLane(answer: string[], at: number, now: number, wallAt: number): ReservedLane {
  const [name, facts, state] = [answer[at] as string, answer[at + 1] as string, answer[at + 2] as string]
  const [fence, opens, tries, list, version, count, delay, ...rare] = facts.split('|')
  const notBefore = Number(opens)
  const priority = list === 'h' ? 'high' : 'normal'
  const lane: ReservedLane = {
    ...readLaneName(name),
    fence: Number(fence),
    notBefore,
    waitMs: Math.max(0, notBefore - now),
    tries: Number(tries),
    robots: { version: Number(version), state: readState(state) },
    heads: [],
    now,
    wallAt,
  }
  if (delay !== '') lane.delayMs = Number(delay)
  const first = at + HEADER
  for (let i = first; i < first + Number(count); i++) lane.heads.push(decodeEntry(answer[i] as string, priority))
  return rare.length === 0 ? lane : withRareFacts(lane, rare)
}

function withRareFacts(
  lane: ReservedLane,
  [heldBy, closedUntil, asker, askedUntil, refetch, ...reason]: string[],
): ReservedLane {
  const blocked = reason.join('|') // an operator's words
  const { version, state } = lane.robots
  return {
    ...lane,
    ...(heldBy === '' ? {} : { heldBy: heldBy as Gate }),
    ...(closedUntil === '' ? {} : { closedUntil: Number(closedUntil) }),
    ...(blocked === '' ? {} : { blocked: blocked.slice(1) }),
    ...(refetch === '' ? {} : { refetch: true as const }),
    robots: { version, state: withQuestion(state, asker ?? '', askedUntil ?? '', lane.now) },
  }
}

/** The robots fetch in flight is kept beside the state, where the scripts can see it. One that has run out is none. */
export function withQuestion(state: RobotsState, fence: string, until: string, now: number): RobotsState {
  return fence === '' || Number(until) <= now
    ? state
    : { ...state, question: { fence: Number(fence), until: Number(until) } }
}
