/** The rules of delays: what a request owes, and when a lane opens whose delay has become longer since, or whose last exchange was lost. */
import { policyOf } from './rules-policies.ts'
import {
  agentOf,
  HOLD_MS,
  hasChanged,
  type Lane,
  type Lease,
  type Model,
  ms,
  type Origin,
  originAt,
  originOf,
} from './state.ts'

/** The delay that an operator demands, while he does. */
export const byHand = ({ override }: Origin, now: number): number =>
  override !== undefined && override.until > now ? override.delayMs : 0

/** What agent and policy ask of every request of a lane. */
function ofAll(m: Model, lane: string, now: number): { delayMs: number; consent: boolean } {
  const { delayMs = 0, consent = false } = policyOf(m, originOf(lane), now)
  return {
    delayMs: consent ? delayMs : Math.max(delayMs, m.leastDelays?.agents.get(agentOf(lane))?.least ?? 0),
    consent,
  }
}
/** The same with what is recorded of the origin, and what an operator has set. */
export function demanded(m: Model, lane: string, now: number): { delayMs: number; consent: boolean } {
  const { delayMs, consent } = ofAll(m, lane, now)
  const origin = originAt(m, originOf(lane))
  const recorded = consent ? 0 : (origin.delays.get(agentOf(lane)) ?? 0)
  return { delayMs: Math.max(delayMs, recorded, byHand(origin, now)), consent }
}

/** What a lane owes after a request under a lease of it. @param said  by its sender, or when it was granted */
export function owedAfter(m: Model, lane: string, { fence, started }: Lease, said: number, now: number): number {
  if (started === undefined) throw new Error(`${lane} owes nothing: nothing was sent`)
  const { kind, of, byHand: atGrant } = started
  const isGroup = kind === 'pace-group'
  const asked = [...(isGroup ? [] : [lane]), ...(of === undefined ? [] : [of])].map((one) => {
    if (hasChanged(m, originOf(one), fence, now)) return demanded(m, one, now)
    const { delayMs, consent } = ofAll(m, one, now)
    return { delayMs: Math.max(delayMs, atGrant), consent }
  })
  const owed = Math.max(0, ...asked.map(({ delayMs }) => delayMs))
  return !isGroup && asked.some(({ consent }) => consent) ? owed : Math.max(owed, said)
}

const owedNow = (m: Model, lane: string, of: string | undefined, now: number): number =>
  Math.max(demanded(m, lane, now).delayMs, of === undefined ? 0 : demanded(m, of, now).delayMs)

/** When a lane opens that is due at an instant, by what agent and policy ask now and by what Redis may have lost. */
export function opensAt(m: Model, name: string, due: number, now: number): number {
  const known = m.leastDelays?.agents.get(agentOf(name))
  const raised = known !== undefined && known.changedAt + HOLD_MS + known.least > now ? known.changedAt : 0
  const changed = Math.max(raised, policyOf(m, originOf(name), now).changedAt ?? 0)
  const last = m.lanes.get(name)?.last
  const [at, until] = m.lost === undefined ? [0, 0] : [m.lost.at, m.lost.until]
  if (changed === 0 && at === 0) return due
  const isLost = at > 0 && at >= (last?.ended ?? 0)
  const since = Math.max(last?.ended ?? changed, isLost ? until : 0)
  return Math.max(due, since + Math.max(isLost ? (last?.owed ?? 0) : 0, owedNow(m, name, last?.of, now)))
}

/** When a lane opens by what its origin is known to ask now. */
export function lengthened(m: Model, name: string, due: number, now: number): number {
  const last = m.lanes.get(name)?.last
  return last === undefined ? due : Math.max(due, last.ended + owedNow(m, name, last.of, now))
}

/** A longer delay counts at once for a lane that waits or is reserved. */
export function lengthen(m: Model, name: string, now: number): void {
  const lane = m.lanes.get(name)
  if (lane === undefined) return
  if (lane.due !== undefined) {
    const own = lane.ownDue ?? lane.due
    const opens = lengthened(m, name, own, now)
    if (opens === own) return
    if (lane.ownDue !== undefined && lane.due > opens) lane.ownDue = ms(opens)
    else {
      delete lane.ownDue
      lane.due = opens
    }
  } else reservedLonger(m, name, lane, now)
}
export function reservedLonger(m: Model, name: string, { lease }: Lane, now: number): void {
  if (lease !== undefined && lease.started === undefined) lease.notBefore = lengthened(m, name, lease.notBefore, now)
}
