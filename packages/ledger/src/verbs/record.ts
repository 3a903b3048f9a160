/** record: a robots fetch has ended, with or without an answer. */
import { domainOf } from '@decorum/protocol'
import { hashesOf, type RobotsState } from '@decorum/robots'
import { DELAY_ITEM } from '../calls.ts'
import { laneName } from '../layout.ts'
import { writeState } from '../records/state-text.ts'
import { writeBody } from '../records/stored-body.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { CompleteResult, RecordResult, RobotsFetchEnd, RobotsRecord, SiteLoad } from '../types.ts'
import { loadText } from './complete.ts'

/** A stale copy may serve for 30 days after the last good answer (docs/spec/robots.md §6); one more day, so that its end is noticed. */
const ORIGIN_LIFE_MS = 31 * 86_400_000

/**
 * Life of the facts about an origin without stored URLs and permits: long enough for the client to read the answer, and then to request a
 * permit. For an unreachable robots.txt, which has no body, longer than any wait before the next fetch.
 */
const UNCLAIMED_MS = 30_000
const UNCLAIMED_DELAYS = 4
const UNCLAIMED_FAILED_MS = 2 * 86_400_000
const UNCLAIMED_NO_ROOM_MS = 60_000
/** Number of bytes that the bodies of such origins may use for one token. */
const UNCLAIMED_BYTES = 512 * 1024

function unclaimedMs({ unclaimedBy, state: { answer, copy }, delays, delayMs }: RobotsRecord): number {
  if (unclaimedBy === undefined) return 0
  if (copy === undefined && answer?.reason === 'no-room') return UNCLAIMED_NO_ROOM_MS
  if (copy === undefined && answer?.kind !== 'missing') return UNCLAIMED_FAILED_MS
  const longest = Math.max(delayMs, ...delays.map((delay) => delay.delayMs ?? 0))
  return UNCLAIMED_MS + UNCLAIMED_DELAYS * longest
}

export async function record(scripts: Scripts, settings: VerbSettings, recorded: RobotsRecord): Promise<RecordResult> {
  const { agent, origin, fence, withPage, state: found, body, delays, delayMs, elapsedMs, load } = recorded
  const { question: _over, ...facts } = found
  const state = { text: writeState(facts), hashes: hashesOf(facts).join(' ') }
  const bytes = body === undefined ? '' : await writeBody(body.bytes)
  const lease =
    withPage === true
      ? {}
      : { lane: laneName(agent, origin), delayMs, elapsedMs, ...(load === undefined ? {} : { load }) }
  return callRecord(scripts, settings, {
    ...{ origin, fence, delays, state, bytes, unclaimedMs: unclaimedMs(recorded) },
    unclaimedBy: recorded.unclaimedBy ?? '',
    ...lease,
  })
}

/** Keeps the facts about an origin for the full time. @returns false: its state has ended, or there is no room for its body */
export async function keep(
  scripts: Scripts,
  { bodies: { domainBytes, allBytes, beyondLifeMs } }: VerbSettings,
  origin: string,
  state: RobotsState,
): Promise<boolean> {
  const budget = { domain: domainOf(origin), domainBytes, allBytes, beyondLifeMs, unclaimedBy: '', unclaimedBytes: 0 }
  const { values } = await scripts.call('keep', {
    ...{ origin, hashes: hashesOf(state).join(' '), lifeMs: ORIGIN_LIFE_MS },
    ...budget,
  })
  return values[0] === 'kept'
}

/** Ends a robots fetch that has nothing to record: the state stays. */
export const endRobotsFetch = (
  scripts: Scripts,
  settings: VerbSettings,
  { origin, fence, agents }: RobotsFetchEnd,
): Promise<CompleteResult> =>
  callRecord(scripts, settings, { origin, fence, delays: agents.map((agent) => ({ agent })) })

type RecordCall = {
  origin: string
  fence: number
  delays: RobotsRecord['delays']
  /** absent: the state stays */
  state?: { text: string; hashes: string }
  /** the body under the first hash, in its stored form; '' when it is already stored */
  bytes?: Buffer | ''
  /** the lane whose lease ends; absent: none */
  lane?: string
  delayMs?: number
  elapsedMs?: number
  load?: SiteLoad
  /** when RobotsRecord.unclaimedBy is set: how long the record is kept, and the token */
  unclaimedMs?: number
  unclaimedBy?: string
}
async function callRecord<Result extends RecordResult>(
  scripts: Scripts,
  { bodies: { domainBytes, allBytes, beyondLifeMs }, backOffMs, backOffMaxMs, backOffQuietMs, jitter }: VerbSettings,
  {
    origin,
    fence,
    delays,
    state,
    bytes = '',
    lane = '',
    delayMs = 0,
    elapsedMs = 0,
    load,
    unclaimedMs: shortMs = 0,
    unclaimedBy = '',
  }: RecordCall,
): Promise<Result> {
  const args = {
    ...{ lane, fence, origin, delayMs, domainBytes, allBytes, beyondLifeMs, backOffMs, backOffMaxMs, backOffQuietMs },
    load: loadText(load, jitter),
    state: state?.text ?? '',
    lifeMs: ORIGIN_LIFE_MS,
    hashes: state?.hashes ?? '',
    body: bytes,
    elapsedMs: elapsedMs.toFixed(3),
    domain: domainOf(origin),
    ...{ unclaimedMs: shortMs, unclaimedBy, unclaimedBytes: UNCLAIMED_BYTES },
  }
  const items = delays.flatMap(({ agent, delayMs: delay = '', clampedFrom = '' }) =>
    DELAY_ITEM.write({ agent, delayMs: delay, clampedFrom }),
  )
  const { values } = await scripts.call('record', args, items)
  return values[0] as Result
}
