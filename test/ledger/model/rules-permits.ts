/** The rules of grant, extend and claim. */
import { acquireLease } from './rules-leases.ts'
import { stoppedUntil } from './rules-stops.ts'
import {
  type Call,
  isSecondary,
  type Lane,
  laneOf,
  type Model,
  makeDue,
  ms,
  open,
  openUnlessInDoubt,
  originAt,
  originOf,
  SETTINGS,
} from './state.ts'

export type Granting = {
  lane: string
  paceLane: string | undefined
  version: number
  delayMs: number
  leaseMs: number
  by: string
}
export type Granted = {
  kind: string
  waitMs?: number
  gate?: string
  holder?: string
  own?: { fence: number; delayMs: number }
  pace?: { fence: number; delayMs: number }
}

export function grant(m: Model, call: Call, requests: Granting[]): Granted[] {
  const { now, held } = open(m, call)
  return requests.map(({ lane, paceLane, version, delayMs, leaseMs, by }): Granted => {
    const origin = originAt(m, originOf(lane))
    if (origin.blockedUntil > now) return { kind: 'blocked' }
    if (origin.version !== version) return { kind: 'rules-changed' }
    const closed = closedBy(m, lane, now, held)
    const before = { fence: m.fence, planned: m.planned }
    const own = acquireLease(m, now, held, { lanes: [lane], kind: 'hop', delayMs, by, leaseMs })
    if ('until' in own) return { kind: 'wait', waitMs: Math.max(1, own.until - now), ...closed }
    if (paceLane === undefined) return { kind: 'granted', own: own.lease }
    const asked = { lanes: [paceLane], kind: 'pace-group' as const, delayMs: own.lease.delayMs, by, leaseMs }
    const pace = acquireLease(m, now, held, asked)
    if ('lease' in pace) return { kind: 'granted', own: own.lease, pace: pace.lease }
    const given = laneOf(m, lane)
    makeDue(given, Math.max(given.lease?.notBefore ?? 0, now))
    Object.assign(m, before) // as if nothing had been granted
    return { kind: 'wait', waitMs: Math.max(1, pace.until - now), gate: 'pace-group' }
  })
}

function closedBy(m: Model, name: string, now: number, held: number): { gate: string; holder?: string } {
  const { closedUntil, pausedUntil } = originAt(m, originOf(name))
  const lease = m.lanes.get(name)?.lease
  if (held > now) return { gate: 'startup-hold' }
  if (stoppedUntil(m, originOf(name), now) > now) return { gate: 'stopped' }
  if (Math.max(closedUntil, pausedUntil) > now) return { gate: pausedUntil >= closedUntil ? 'paused' : 'back-off' }
  if (lease === undefined) return { gate: 'delay' }
  return { gate: 'lane-busy', holder: isSecondary(lease) ? 'permit' : 'url' }
}

export type Extended = { kind: string; stop?: string } | 'doubt'

/** All of the leases, or none of them. */
export function extend(m: Model, call: Call, held: { lane: string; fence: number }[], leaseMs: number): Extended {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const lanes: Lane[] = []
  let stop: string | undefined
  for (const { lane: name, fence } of held) {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    if (lane === undefined || lease?.started === undefined || lease.fence !== fence) return { kind: 'stale' }
    if ((isSecondary(lease) ? lease.looked : lease.ends) <= now) return { kind: 'stale' }
    lanes.push(lane)
    const { blockedUntil, pausedUntil, closedUntil } = originAt(m, originOf(name))
    if (lease.started.kind === 'pace-group' || stop !== undefined) continue
    if (stoppedUntil(m, originOf(name), now) > now) stop = 'stopped'
    else if (blockedUntil > now) stop = 'blocked'
    else if (pausedUntil > now) stop = 'paused'
    else if (closedUntil > now) stop = 'back-off'
  }
  for (const { lease } of lanes) if (lease !== undefined) lease.ends = lease.looked = ms(now + leaseMs)
  return { kind: 'extended', ...(stop === undefined ? {} : { stop }) }
}

export type Claimed = { waitMs: number; gate: string } | { fence: number; notBefore: number; version: number }

/** A reservation for a robots fetch that no URL of the lane asks for. */
export function claim(m: Model, call: Call, name: string): Claimed {
  const { now, held } = open(m, call)
  const { closedUntil, pausedUntil, question, version } = originAt(m, originOf(name))
  const lane = m.lanes.get(name)
  const due = lane?.ownDue ?? lane?.due ?? 0
  const wait = (until: number, gate: string): Claimed => ({ waitMs: Math.max(1, until - now), gate })
  const closed = Math.max(closedUntil, pausedUntil)
  if (held > now) return wait(held, 'startup-hold')
  const stopped = stoppedUntil(m, originOf(name), now)
  if (stopped > now) return wait(stopped, 'stopped')
  if (closed > now) return wait(closed, pausedUntil >= closedUntil ? 'paused' : 'back-off')
  if (question !== undefined && question.until > now) return wait(question.until, 'robots-in-flight')
  if (lane?.lease !== undefined) return wait(now, 'lane-busy')
  if (due > now) return wait(due, 'delay')
  const claimed = laneOf(m, name)
  delete claimed.due
  delete claimed.ownDue
  m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
  const ends = ms(now + SETTINGS.reserveMs)
  claimed.lease = { fence: m.fence, list: 'q', notBefore: now, ends, looked: ends }
  return { fence: m.fence, notBefore: now, version }
}
