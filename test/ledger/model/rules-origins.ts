/** The rules of learn, reap and the operator's hand. */
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
  forAsker: boolean
  notBefore: number
  gaps: [string, number][]
  gapMs: number
  restedMs: number
}

export function learn(m: Model, call: Call, word: Teaching): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const name = originOf(word.lane)
  const origin = originAt(m, name)
  const asker = m.lanes.get(word.lane)
  const lease = asker?.lease?.fence === word.fence ? asker.lease.begun : undefined
  const begun = lease?.kind === 'robots' ? lease : undefined
  if (origin.question?.fence !== word.fence || (!word.forAsker && begun === undefined)) return 'stale'
  delete origin.question
  origin.version++
  origin.notBefore = word.notBefore
  if (!word.forAsker && asker !== undefined && begun !== undefined) {
    const agent = agentOf(word.lane)
    const learned = word.gaps.find(([one]) => one === agent)?.[1] ?? 0
    const own = Math.max(learned, origin.gaps.get(agent) ?? 0)
    delete asker.lease
    asker.due = now - Math.min(word.restedMs, now - begun.at) + Math.max(word.gapMs, own, begun.least)
  }
  for (const [agent, gapMs] of word.gaps) {
    const before = origin.gaps.get(agent)
    const longer = before === undefined ? 0 : Math.max(0, gapMs - before)
    origin.gaps.set(agent, gapMs)
    const laneName = `${agent} ${name}`
    const lane = m.lanes.get(laneName)
    if (lane === undefined || (laneName === word.lane && !word.forAsker)) continue
    if (lane.clock !== undefined && lane.due !== undefined) {
      lane.due = lane.clock + longer
      delete lane.clock
    } else if (lane.due !== undefined) lane.due += longer
    else if (lane.lease?.begun !== undefined) lane.lease.begun.least = Math.max(lane.lease.begun.least, gapMs)
    else if (lane.lease !== undefined) lane.lease.notBefore = ms(lane.lease.notBefore + longer)
  }
  return 'settled'
}

/** The facts stay; lanes that wait are woken to their own clocks. */
export function endRobotsFetch(m: Model, call: Call, name: string, fence: number): string {
  open(m, call)
  const origin = originAt(m, name)
  if (origin.question?.fence !== fence) return 'stale'
  delete origin.question
  for (const agent of AGENTS) {
    const lane = m.lanes.get(`${agent} ${name}`)
    const gapMs = origin.gaps.get(agent) ?? 0
    if (lane?.clock !== undefined && lane.due !== undefined) {
      lane.due = lane.clock
      delete lane.clock
    } else if (lane?.lease?.begun !== undefined) lane.lease.begun.least = Math.max(lane.lease.begun.least, gapMs)
  }
  return 'settled'
}

export type Question = { lane: string; fence: number; version: number }

export function reap(m: Model, call: Call): { begun: number; unbegun: number; questions: Question[] } {
  const { now } = open(m, call)
  const result = { begun: 0, unbegun: 0, questions: [] as Question[] }
  const ended = [...m.lanes]
    .filter(([, { lease }]) => lease !== undefined && lease.looked <= now)
    .sort(([a, { lease: x }], [b, { lease: y }]) => x!.looked - y!.looked || (a < b ? -1 : 1))
  for (const [name, lane] of ended) {
    const lease = lane.lease!
    lease.looked = lease.ends
    if (lease.ends > now) continue
    delete lane.lease
    if (lease.begun === undefined) {
      result.unbegun++
      lane.due = Math.max(lease.notBefore, now)
      continue
    }
    result.begun++
    lane.due = now + Math.max(lease.begun.gapMs, lease.begun.least) + quarantineMs
    const origin = originAt(m, originOf(name))
    if (lease.begun.kind === 'page' || lease.begun.kind === 'robots-page') {
      lane.tries++
      lane.triedList = lease.list
    } else if (lease.begun.kind === 'robots' && origin.question?.fence === lease.fence) {
      result.questions.push({ lane: name, fence: lease.fence, version: origin.version })
    }
  }
  for (const [name, { last }] of m.queues) if (last + 3_600_000 < now) m.queues.delete(name)
  return result
}

// --- the operator's hand -----------------------------------------------------------------------------------------

export type Operation = {
  origin: string
  action: 'pause' | 'resume' | 'block' | 'unblock' | 'gap'
  gapMs: number
  until: number
}

export function operate(m: Model, call: Call, { origin: name, action, gapMs, until }: Operation): void {
  open(m, call)
  const origin = originAt(m, name)
  if (action === 'pause') origin.pausedUntil = until
  else if (action === 'unblock') origin.blockedUntil = 0
  else if (action === 'resume') origin.pausedUntil = 0
  else if (action === 'block') origin.blockedUntil = until
  else origin.override = { gapMs, until }
  if (action === 'pause' || action === 'unblock') return
  for (const agent of AGENTS) {
    const lane = m.lanes.get(`${agent} ${name}`)
    if (lane === undefined) continue
    const longer = action === 'gap' ? Math.max(0, gapMs - (origin.gaps.get(agent) ?? 0)) : 0
    if (lane.due !== undefined) {
      lane.due = (lane.clock ?? lane.due) + longer
      delete lane.clock
    } else if (lane.lease?.begun === undefined) {
      if (lane.lease !== undefined && longer > 0) lane.lease.notBefore = ms(lane.lease.notBefore + longer)
    } else if (longer > 0) lane.lease.begun.least = Math.max(lane.lease.begun.least, gapMs)
  }
}
