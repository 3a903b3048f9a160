/** The rules of learn, reap and the operator's hand. */
import { leastOf } from './rules-least-delays.ts'
import {
  AGENTS,
  agentOf,
  type Call,
  type Model,
  ms,
  open,
  openUnlessInDoubt,
  originAt,
  originOf,
  SETTINGS,
} from './state.ts'

const { quarantineMs } = SETTINGS

// --- learn, reap -------------------------------------------------------------------------------------------------

export type Teaching = {
  lane: string
  fence: number
  withPage: boolean
  notBefore: number
  delays: [string, number][]
  delayMs: number
  elapsedMs: number
}

export function record(m: Model, call: Call, word: Teaching): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const name = originOf(word.lane)
  const origin = originAt(m, name)
  const asker = m.lanes.get(word.lane)
  const lease = asker?.lease?.fence === word.fence ? asker.lease.started : undefined
  const started = lease?.kind === 'robots' ? lease : undefined
  if (origin.question?.fence !== word.fence || (!word.withPage && started === undefined)) return 'stale'
  delete origin.question
  origin.version++
  origin.notBefore = word.notBefore
  if (!word.withPage && asker !== undefined && started !== undefined) {
    const agent = agentOf(word.lane)
    const recorded = word.delays.find(([one]) => one === agent)?.[1] ?? 0
    const own = Math.max(recorded, origin.delays.get(agent) ?? 0)
    delete asker.lease
    const owed = Math.max(word.delayMs, own, started.least, leastOf(m, word.lane, 'robots'))
    asker.due = now - Math.min(word.elapsedMs, now - started.at) + owed
  }
  for (const [agent, delayMs] of word.delays) {
    const before = origin.delays.get(agent)
    const longer = before === undefined ? 0 : Math.max(0, delayMs - before)
    origin.delays.set(agent, delayMs)
    const laneName = `${agent} ${name}`
    const lane = m.lanes.get(laneName)
    if (lane === undefined || (laneName === word.lane && !word.withPage)) continue
    if (lane.ownDue !== undefined && lane.due !== undefined) {
      lane.due = lane.ownDue + longer
      delete lane.ownDue
    } else if (lane.due !== undefined) lane.due += longer
    else if (lane.lease?.started !== undefined) lane.lease.started.least = Math.max(lane.lease.started.least, delayMs)
    else if (lane.lease !== undefined) lane.lease.notBefore = ms(lane.lease.notBefore + longer)
  }
  return 'completed'
}

/** The facts stay; lanes that wait are woken at their own due times. */
export function endRobotsFetch(m: Model, call: Call, name: string, fence: number): string {
  if (openUnlessInDoubt(m, call).now === undefined) return 'doubt'
  const origin = originAt(m, name)
  if (origin.question?.fence !== fence) return 'stale'
  delete origin.question
  for (const agent of AGENTS) {
    const lane = m.lanes.get(`${agent} ${name}`)
    const delayMs = origin.delays.get(agent) ?? 0
    if (lane?.ownDue !== undefined && lane.due !== undefined) {
      lane.due = lane.ownDue
      delete lane.ownDue
    } else if (lane?.lease?.started !== undefined)
      lane.lease.started.least = Math.max(lane.lease.started.least, delayMs)
  }
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
    const { delayMs, least, kind } = lease.started
    lane.due = now + Math.max(delayMs, least, leastOf(m, name, kind)) + quarantineMs
    const origin = originAt(m, originOf(name))
    if (lease.started.kind === 'page' || lease.started.kind === 'robots-page') {
      lane.tries++
      lane.triedList = lease.list
    } else if (lease.started.kind === 'robots' && origin.question?.fence === lease.fence) {
      result.robotsFetches.push({ lane: name, fence: lease.fence, version: origin.version })
    }
  }
  for (const [name, { last }] of m.queues) if (last + 3_600_000 < now) m.queues.delete(name)
  return result
}

// --- the operator's hand -----------------------------------------------------------------------------------------

export type Operation = {
  origin: string
  action: 'pause' | 'resume' | 'block' | 'unblock' | 'delay'
  delayMs: number
  until: number
}

export function operate(m: Model, call: Call, { origin: name, action, delayMs, until }: Operation): void {
  open(m, call)
  const origin = originAt(m, name)
  if (action === 'pause') origin.pausedUntil = until
  else if (action === 'unblock') origin.blockedUntil = 0
  else if (action === 'resume') origin.pausedUntil = 0
  else if (action === 'block') origin.blockedUntil = until
  else origin.override = { delayMs, until }
  if (action === 'pause' || action === 'unblock') return
  for (const agent of AGENTS) {
    const lane = m.lanes.get(`${agent} ${name}`)
    if (lane === undefined) continue
    const longer = action === 'delay' ? Math.max(0, delayMs - (origin.delays.get(agent) ?? 0)) : 0
    if (lane.due !== undefined) {
      lane.due = (lane.ownDue ?? lane.due) + longer
      delete lane.ownDue
    } else if (lane.lease?.started === undefined) {
      if (lane.lease !== undefined && longer > 0) lane.lease.notBefore = ms(lane.lease.notBefore + longer)
    } else if (longer > 0) lane.lease.started.least = Math.max(lane.lease.started.least, delayMs)
  }
}
