/** What the fleet knows of origins: robots state and bodies, delays, back-off. */
import { hostOf, registrableDomain } from '@decorum/protocol'
import { hashesOf } from '@decorum/robots'
import { decodeEntry } from './entry.ts'
import { type Keys, laneName, readLaneName } from './keys.ts'
import type { RedisLink } from './link.ts'
import { withQuestion } from './reserve.ts'
import { type Arg, type Scripts, withDeadline } from './scripts.ts'
import { readState, writeState } from './state-text.ts'
import { readBody, writeBody } from './stored-body.ts'
import type {
  CompleteResult,
  Gate,
  LaneInOrigin,
  LaneList,
  LaneView,
  LearnResult,
  OriginView,
  PartitionView,
  RobotsFetchEnd,
  RobotsRecord,
} from './types.ts'

/** A stale copy may serve for 30 days after the last good answer (docs/spec/robots.md §6); a day more, so that its end is seen. */
const ORIGIN_LIFE_MS = 31 * 86_400_000

/**
 * What bodies of more than 4 KiB, as they are stored, may take up in one partition. Each time that one is given a whole life
 * counts; so what is there at once is at most twice a budget.
 */
export type BodyBudget = {
  /** of the origins of one registrable domain, bytes; and as much again for short lives */
  domainBytes: number
  /** of all, bytes; likewise */
  allBytes: number
  /** life beyond the budget, ms */
  beyondLifeMs: number
}
/**
 * A domain: sixteen files of the largest size that is read, even if they do not deflate. All: what a Redis of a few GB can
 * spare. Beyond, an origin is asked again after an hour, which RFC 9309 §2.4 allows; what comes in within that hour is bounded
 * as well.
 */
export const bodyBudget: BodyBudget = {
  domainBytes: 8 * 1024 * 1024,
  allBytes: 512 * 1024 * 1024,
  beyondLifeMs: 3_600_000,
}

export type Origins = {
  record(robotsRecord: RobotsRecord): Promise<LearnResult>
  endRobotsFetch(end: RobotsFetchEnd): Promise<CompleteResult>
  body(hash: string): Promise<Uint8Array | undefined>
  states(origins: string[]): Promise<{ version: number; state: OriginView['state'] }[]>
  view(origin: string, agents: string[]): Promise<OriginView>
  viewLanes(list: LaneList): Promise<LaneInOrigin[]>
  viewPartition(tag: string): Promise<PartitionView>
}

export function originsOf(
  redis: RedisLink,
  keys: Keys,
  scripts: Scripts,
  callDeadlineMs: number,
  budget: BodyBudget = bodyBudget,
): Origins {
  return {
    record: (robotsRecord) => record(scripts, budget, robotsRecord),
    endRobotsFetch: ({ origin, fence, agents }) =>
      callLearn(scripts, budget, { origin, fence, delays: agents.map((agent) => ({ agent })) }),
    async body(hash) {
      const stored = await withDeadline(redis.getBuffer(keys.body(hash)), callDeadlineMs, 'body')
      return stored === null ? undefined : readBody(stored)
    },
    async states(origins) {
      if (origins.length === 0) return []
      const pipeline = redis.pipeline()
      for (const origin of origins) pipeline.hmget(keys.origin(origin), 's', 'v', 'q', 'u', 'se')
      const answers = (await withDeadline(pipeline.exec(), callDeadlineMs, 'states')) ?? []
      return answers.map(([error, value]) => {
        if (error !== null) throw error
        const [state, version, fence, until, ends] = value as (string | null)[]
        const now = scripts.now()
        const known = readState(ends && Number(ends) <= now ? '' : (state ?? ''))
        return { version: Number(version ?? 0), state: withQuestion(known, fence ?? '', until ?? '', now) }
      })
    },
    view: (origin, agents) => viewOrigin(scripts, origin, agents),
    viewLanes: (list) => viewLanes(scripts, list),
    viewPartition: (tag) => viewPartition(scripts, tag),
  }
}

async function record(scripts: Scripts, budget: BodyBudget, robotsRecord: RobotsRecord): Promise<LearnResult> {
  const { agent, origin, fence, forAsker, body, delays, delayMs, elapsedMs } = robotsRecord
  const { question: _gone, ...facts } = robotsRecord.state
  const state = { text: writeState(facts), hashes: hashesOf(facts).join(' ') }
  const octets = body === undefined ? '' : await writeBody(body.octets)
  const asked = forAsker === true ? {} : { lane: laneName(agent, origin), delayMs, elapsedMs }
  return callLearn(scripts, budget, { origin, fence, delays, state, octets, ...asked })
}

type LearnCall = {
  origin: string
  fence: number
  delays: RobotsRecord['delays']
  /** absent: the state stays */
  state?: { text: string; hashes: string }
  /** the body under the first hash, as it is stored; '' when it is there already */
  octets?: Buffer | ''
  /** the lane whose lease ends; absent: none */
  lane?: string
  delayMs?: number
  elapsedMs?: number
}
async function callLearn<Result extends LearnResult>(
  scripts: Scripts,
  { domainBytes, allBytes, beyondLifeMs }: BodyBudget,
  { origin, fence, delays, state, octets = '', lane = '', delayMs = 0, elapsedMs = 0 }: LearnCall,
): Promise<Result> {
  const host = hostOf(origin)
  const answer = await scripts.call(
    'record',
    lane,
    fence,
    origin,
    state?.text ?? '',
    ORIGIN_LIFE_MS,
    state?.hashes ?? '',
    octets,
    beyondLifeMs,
    delayMs,
    elapsedMs.toFixed(3),
    registrableDomain(host) ?? host,
    domainBytes,
    allBytes,
    ...delays.flatMap((delay): Arg[] => [delay.agent, delay.delayMs ?? '', delay.clampedFrom ?? '']),
  )
  return answer[2] as Result
}

async function viewOrigin(scripts: Scripts, origin: string, agents: string[]): Promise<OriginView> {
  const answer = await scripts.call('view', 'origin', origin, ...agents)
  const behind = 3 + Number(answer[2])
  const lanes: LaneView[] = []
  for (let at = behind; at < answer.length; at += LANE_ROW) lanes.push(laneView(answer.slice(at, at + LANE_ROW)))
  return originView(origin, answer.slice(3, behind), lanes, Number(answer[1]))
}

/** Lanes of one call: about 1 ms of Redis. */
const MAX_LANES = 200

async function viewLanes(scripts: Scripts, { order, limit, skip = 0 }: LaneList): Promise<LaneInOrigin[]> {
  if (limit < 1) return []
  const answer = await scripts.call('view', 'lanes', order, skip, Math.min(limit, MAX_LANES))
  const now = Number(answer[1])
  const found: LaneInOrigin[] = []
  for (let at = 2; at < answer.length; ) {
    const lane = laneView(answer.slice(at, at + LANE_ROW))
    const fields = at + LANE_ROW + 1
    at = fields + Number(answer[fields - 1])
    found.push({ lane, origin: originView(lane.origin, answer.slice(fields, at), [lane], now) })
  }
  return found
}

/** @param flat  fields of the origin's hash and their values, by turns */
function originView(origin: string, flat: string[], lanes: LaneView[], now: number): OriginView {
  const fields = new Map<string, string>()
  for (let at = 0; at < flat.length; at += 2) fields.set(flat[at] as string, flat[at + 1] as string)
  const until = (name: string): number | undefined => {
    const value = Number(fields.get(name) ?? 0)
    return value > now ? value : undefined
  }
  const backOff = until('bu')
  const paused = until('pu')
  const blocked = until('ku')
  const override = until('oe')
  return {
    origin,
    version: Number(fields.get('v') ?? 0),
    state: withQuestion(
      readState(Number(fields.get('se') ?? Infinity) <= now ? '' : (fields.get('s') ?? '')),
      fields.get('q') ?? '',
      fields.get('u') ?? '',
      now,
    ),
    ...(backOff === undefined ? {} : { backOff: { until: backOff, incidents: Number(fields.get('bf') ?? 0) } }),
    ...(paused === undefined ? {} : { paused: { until: paused, reason: fields.get('pr') ?? '' } }),
    ...(blocked === undefined ? {} : { blocked: { until: blocked, reason: fields.get('kr') ?? '' } }),
    ...(override === undefined
      ? {}
      : { override: { delayMs: Number(fields.get('og')), until: override, reason: fields.get('or') ?? '' } }),
    delays: [...fields].flatMap(([name, value]) =>
      name.startsWith('g:') ? [delayView(name.slice(2), value, fields)] : [],
    ),
    lanes,
    now,
  }
}

function delayView(agent: string, delayMs: string, fields: Map<string, string>): OriginView['delays'][number] {
  const clamped = fields.get(`w:${agent}`)
  return { agent, delayMs: Number(delayMs), ...(clamped === undefined ? {} : { clampedFrom: Number(clamped) }) }
}

/** Columns that view.lua shows of a lane. */
const LANE_ROW = 8

function laneView(row: string[]): LaneView {
  const [lane, waiting, due, lease, tries, heldBy, head, list] = row as [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  return {
    ...readLaneName(lane),
    waiting: Number(waiting),
    state:
      lease === 'started' ? 'in-flight' : lease === 'reserved' ? 'reserved' : Number(waiting) > 0 ? 'waiting' : 'idle',
    tries: Number(tries || 0),
    ...(due === '' ? {} : { due: Number(due) }),
    ...(heldBy === '' ? {} : { heldBy: heldBy as Gate }),
    ...(head === '' ? {} : { head: decodeEntry(head, list === 'h' ? 'high' : 'normal') }),
  }
}

async function viewPartition(scripts: Scripts, tag: string): Promise<PartitionView> {
  const answer = await scripts.call('view', 'partition')
  const now = Number(answer[1])
  const counts: Record<string, number> = {}
  for (let at = 8; at < answer.length; at += 2) counts[answer[at] as string] = Number(answer[at + 1])
  const holdUntil = Number(answer[2])
  return {
    tag,
    now,
    ...(holdUntil > now ? { holdUntil } : {}),
    due: Number(answer[3]),
    lanes: Number(answer[4]) + Number(answer[5]),
    inFlight: Number(answer[5]),
    waiting: (counts.parked ?? 0) - (counts.left ?? 0),
    unread: Number(answer[6]),
    ...(answer[7] === '' ? {} : { nextDue: Number(answer[7]) }),
    counts,
  }
}
