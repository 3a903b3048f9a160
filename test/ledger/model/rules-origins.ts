/** The rules of record, reap and the operator's hand. */
import { lengthen, lengthened, owedAfter, reservedLonger } from './rules-delays.ts'
import { backOff, countTry, type Ending, latestSentAt } from './rules-leases.ts'
import {
  AGENTS,
  agentOf,
  befalls,
  type Call,
  hostOf,
  type Model,
  markChanged,
  ORIGINS,
  open,
  openUnlessInDoubt,
  originAt,
  originOf,
  SETTINGS,
  wakeHeld,
} from './state.ts'

const { quarantineMs } = SETTINGS

// --- record, reap ------------------------------------------------------------------------------------------------

export type Recording = {
  lane: string
  fence: number
  withPage: boolean
  notBefore: number
  delays: [string, number][]
  delayMs: number
  elapsedMs: number
} & Pick<Ending, 'load' | 'retryAfterMs' | 'jitter'>

export function record(m: Model, call: Call, word: Recording): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const { lane: name, fence, withPage, delays } = word
  const originName = originOf(name)
  const origin = originAt(m, originName)
  const lane = m.lanes.get(name)
  const lease = befalls('record', lane?.lease, fence, now) ? lane?.lease : undefined
  if (origin.question?.fence !== fence || (!withPage && lease === undefined)) return 'stale'
  delete origin.question
  origin.version++
  origin.notBefore = word.notBefore
  const before = delays.some(([agent]) => agent === agentOf(name)) ? (origin.delays.get(agentOf(name)) ?? 0) : 0
  for (const [agent, delayMs] of delays) origin.delays.set(agent, delayMs)
  markChanged(m, originName)
  if (!withPage && lane !== undefined && lease?.started !== undefined) {
    const ended = now - Math.min(word.elapsedMs, now - latestSentAt(lease.started, now))
    delete lane.lease
    const owed = owedAfter(m, name, lease, Math.max(word.delayMs, before), now)
    lane.last = { ended, owed }
    lane.due = ended + owed
    if (word.load !== 'normal') backOff(m, originName, word, now, latestSentAt(lease.started, now), ended)
  }
  wake(
    m,
    delays.map(([agent]) => `${agent} ${originName}`).filter((one) => withPage || one !== name),
    now,
  )
  const host = hostOf(originName)
  if (host !== originName) for (const [agent] of delays) lengthen(m, `${agent} ${host}`, now)
  return 'completed'
}

/** Lanes of an origin whose robots fetch is over: due at their own time, or later where their delay has grown. */
function wake(m: Model, names: string[], now: number): void {
  for (const name of names) {
    const lane = m.lanes.get(name)
    if (lane?.due === undefined) {
      if (lane !== undefined) reservedLonger(m, name, lane, now)
      continue
    }
    const own = lane.ownDue ?? lane.due
    const opens = lengthened(m, name, own, now)
    if (lane.ownDue !== undefined || opens > own) lane.due = opens
    delete lane.ownDue
  }
}

/** The facts stay; lanes that wait are woken at their own due times. */
export function endRobotsFetch(m: Model, call: Call, name: string, fence: number): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const origin = originAt(m, name)
  if (origin.question?.fence !== fence) return 'stale'
  delete origin.question
  markChanged(m, name)
  wake(
    m,
    AGENTS.map((agent) => `${agent} ${name}`),
    now,
  )
  return 'completed'
}

export type Question = { lane: string; fence: number; version: number }

export function reap(m: Model, call: Call): { started: number; unstarted: number; robotsFetches: Question[] } {
  const { now } = open(m, call)
  const result = { started: 0, unstarted: 0, robotsFetches: [] as Question[] }
  const ended = [...m.lanes]
    .filter(([, { lease }]) => lease !== undefined && lease.looked <= now)
    .sort(([a, { lease: x }], [b, { lease: y }]) => x!.looked - y!.looked || (a < b ? -1 : 1))
  for (const [name, lane] of ended) {
    const lease = lane.lease!
    lease.looked = lease.ends
    if (lease.ends > now) continue
    delete lane.lease
    if (lease.started === undefined) {
      result.unstarted++
      lane.due = Math.max(lease.notBefore, now)
      continue
    }
    result.started++
    const owed = owedAfter(m, name, lease, lease.started.delayMs, now)
    const ended = now + quarantineMs
    lane.last = { ended, owed, of: lease.started.of }
    lane.due = ended + owed
    const origin = originAt(m, originOf(name))
    if (lease.started.kind === 'page' || lease.started.kind === 'robots-page') {
      countTry(lane, lease.list)
    } else if (lease.started.kind === 'robots' && origin.question?.fence === lease.fence) {
      result.robotsFetches.push({ lane: name, fence: lease.fence, version: origin.version })
    }
  }
  const waited = [...m.later].filter(([, { due }]) => due <= now)
  waited.sort(([a, x], [b, y]) => x.due - y.due || (a < b ? -1 : 1))
  for (const [stored, { id }] of waited) {
    m.later.delete(stored)
    m.outbox.push(id)
  }
  for (const [name, { last }] of m.queues) if (last + 3_600_000 < now) m.queues.delete(name)
  return result
}

// --- the operator's hand -----------------------------------------------------------------------------------------

export type Operation = {
  origin: string
  action: 'pause' | 'resume' | 'block' | 'unblock' | 'delay' | 'refetch'
  delayMs: number
  until: number
}

/** Of several pauses of a host's ports the longest counts. */
function pauseHost(m: Model, host: string, now: number): void {
  const others = ORIGINS.filter((one) => one !== host && hostOf(one) === host)
  const longest = Math.max(0, ...others.map((one) => m.origins.get(one)?.pausedUntil ?? 0))
  if (others.length > 0) originAt(m, host).hostPausedUntil = longest > now ? longest : 0
}

export function operate(m: Model, call: Call, { origin: name, action, delayMs, until }: Operation): void {
  const { now } = open(m, call)
  const origin = originAt(m, name)
  const host = hostOf(name)
  const lanesOf = (one: string): string[] => AGENTS.map((agent) => `${agent} ${one}`)
  if (action === 'pause') {
    origin.pausedUntil = until
    pauseHost(m, host, now)
  } else if (action === 'resume') {
    origin.pausedUntil = 0
    pauseHost(m, host, now)
  } else if (action === 'unblock') origin.blockedUntil = 0
  else if (action === 'block') origin.blockedUntil = until
  else if (action === 'delay') origin.override = { delayMs, until }
  else origin.refetch = origin.version
  markChanged(m, name)
  markChanged(m, host)
  if (action === 'resume' || action === 'pause') wakeHeld(m)
  for (const one of lanesOf(name)) {
    const lane = m.lanes.get(one)
    if (lane?.due === undefined || lane.ownDue === undefined) continue
    lane.due = lane.ownDue
    delete lane.ownDue
  }
  if (action !== 'delay') return
  for (const one of new Set([...lanesOf(name), ...lanesOf(host)])) lengthen(m, one, now)
}
