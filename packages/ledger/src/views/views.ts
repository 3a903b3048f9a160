/** A lane and an origin in the form of the views (lua/lib/view.lua). */

import type { Gate } from '@decorum/protocol'
import { GATE_TABLE, type LedgerGate } from '@decorum/protocol/gates'
import { decodeIn, FIELD, type List, readLaneName, readState, withRobotsFetch } from '../stored.ts'
import { LANE_ROW } from './calls.ts'
import type { Pending } from '../types.ts'
import type { ClosedGate, LaneView, OriginView } from './types.ts'

/** The first URL without its attempts, which are in `tries` of the lane. */
const headOf = ({ attempts: _, ...head }: Pending): Pending => head

export function laneView(values: string[], from: number): LaneView {
  const { lane, pending, due, lease, attempts, heldBy, head, list, closed } = LANE_ROW.read(values, from)
  return {
    ...readLaneName(lane),
    waiting: Number(pending),
    state: lease === 'started' ? 'in-flight' : lease === 'reserved' ? lease : Number(pending) > 0 ? 'waiting' : 'idle',
    tries: Number(attempts || 0),
    ...(due === '' ? {} : { due: Number(due) }),
    ...(heldBy === '' ? {} : { heldBy: heldBy as Gate }),
    ...(head === '' ? {} : { head: headOf(decodeIn(list as List, head)) }),
    closed: closedGates(closed),
  }
}

/** @param text  alternating gates and instants at which they open · @returns first gates that end URLs, then the last to open first */
function closedGates(text: string): ClosedGate[] {
  const words = text.split(' ')
  const closed: ClosedGate[] = []
  for (let at = 0; at + 1 < words.length; at += 2) {
    closed.push({ gate: words[at] as LedgerGate, until: Number(words[at + 1]) })
  }
  const ends = ({ gate }: ClosedGate): number => (GATE_TABLE[gate].manner === 'ends' ? 1 : 0)
  return closed.sort((one, other) => ends(other) - ends(one) || other.until - one.until)
}

/** Where an origin ends in a reply: its number of texts comes first. */
export const endOfOrigin = (values: string[], from: number): number => from + 1 + Number(values[from])

/** @param values  their number at `from`, then alternating fields of the origin's hash and their values */
export function originView(origin: string, values: string[], from: number, lanes: LaneView[], now: number): OriginView {
  const fields = new Map<string, string>()
  const end = endOfOrigin(values, from)
  for (let at = from + 1; at < end; at += 2) fields.set(values[at] as string, values[at + 1] as string)
  const text = (field: string): string => fields.get(field) ?? ''
  const until = (field: string): number | undefined => (Number(text(field)) > now ? Number(text(field)) : undefined)
  const [backOff, paused] = [until(FIELD.backOffUntil), until(FIELD.pausedUntil)]
  const [blocked, override] = [until(FIELD.blockedUntil), until(FIELD.overrideUntil)]
  const hasEnded = fields.has(FIELD.robotsStateEnds) && until(FIELD.robotsStateEnds) === undefined
  const state = readState(hasEnded ? '' : text(FIELD.robotsState))
  return {
    origin,
    version: Number(text(FIELD.version)),
    state: withRobotsFetch(state, text(FIELD.fetchFence), text(FIELD.fetchUntil), now),
    ...(backOff === undefined ? {} : { backOff: { until: backOff, incidents: Number(text(FIELD.incidents)) } }),
    ...(Number(text(FIELD.failures)) > 0 ? { failures: Number(text(FIELD.failures)) } : {}),
    ...(paused === undefined ? {} : { paused: { until: paused, reason: text(FIELD.pauseReason) } }),
    ...(blocked === undefined ? {} : { blocked: { until: blocked, reason: text(FIELD.blockReason) } }),
    ...(override === undefined ? {} : { override: { ...overrideOf(text), until: override } }),
    delays: [...fields].flatMap(([name, value]) =>
      name.startsWith(FIELD.delayOf) ? [delayView(name.slice(FIELD.delayOf.length), value, fields)] : [],
    ),
    ...policyView(text(FIELD.policy), text(FIELD.requestsToday)),
    lanes,
    now,
  }
}

/** @param text  the site, a blank, and its policy as JSON; '' when there is none */
function policyView(text: string, requestsToday: string): Pick<OriginView, 'policy'> {
  if (text === '') return {}
  const blank = text.indexOf(' ')
  const policy = { site: text.slice(0, blank), ...(JSON.parse(text.slice(blank + 1)) as object) }
  return { policy: requestsToday === '' ? policy : { ...policy, requestsToday: Number(requestsToday) } }
}

const overrideOf = (text: (field: string) => string) => ({
  delayMs: Number(text(FIELD.overrideDelay)),
  reason: text(FIELD.overrideReason),
})

function delayView(agent: string, delayMs: string, fields: Map<string, string>): OriginView['delays'][number] {
  const clamped = fields.get(FIELD.clampedOf + agent)
  return { agent, delayMs: Number(delayMs), ...(clamped === undefined ? {} : { clampedFrom: Number(clamped) }) }
}
