/** record: a robots fetch is over, with or without an answer. */
import { hostOf, registrableDomain } from '@decorum/protocol'
import { hashesOf } from '@decorum/robots'
import { DELAY_ITEM } from '../calls.ts'
import { laneName } from '../layout.ts'
import { writeState } from '../records/state-text.ts'
import { writeBody } from '../records/stored-body.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { CompleteResult, RecordResult, RobotsFetchEnd, RobotsRecord, SiteLoad } from '../types.ts'
import { loadText } from './complete.ts'

/** A stale copy may serve for 30 days after the last good answer (docs/spec/robots.md §6); a day more, so that its end is seen. */
const ORIGIN_LIFE_MS = 31 * 86_400_000

export async function record(
  scripts: Scripts,
  settings: VerbSettings,
  { agent, origin, fence, withPage, state: found, body, delays, delayMs, elapsedMs, load }: RobotsRecord,
): Promise<RecordResult> {
  const { question: _over, ...facts } = found
  const state = { text: writeState(facts), hashes: hashesOf(facts).join(' ') }
  const bytes = body === undefined ? '' : await writeBody(body.octets)
  const lease =
    withPage === true
      ? {}
      : { lane: laneName(agent, origin), delayMs, elapsedMs, ...(load === undefined ? {} : { load }) }
  return callRecord(scripts, settings, { origin, fence, delays, state, bytes, ...lease })
}

/** There is nothing to record: the state stays. */
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
  /** the body under the first hash, as it is stored; '' when it is stored already */
  bytes?: Buffer | ''
  /** the lane whose lease ends; absent: none */
  lane?: string
  delayMs?: number
  elapsedMs?: number
  load?: SiteLoad
}
async function callRecord<Result extends RecordResult>(
  scripts: Scripts,
  { bodies: { domainBytes, allBytes, beyondLifeMs }, backOffMs, backOffMaxMs, backOffQuietMs, jitter }: VerbSettings,
  { origin, fence, delays, state, bytes = '', lane = '', delayMs = 0, elapsedMs = 0, load }: RecordCall,
): Promise<Result> {
  const host = hostOf(origin)
  const args = {
    ...{ lane, fence, origin, delayMs, domainBytes, allBytes, beyondLifeMs, backOffMs, backOffMaxMs, backOffQuietMs },
    load: loadText(load, jitter),
    state: state?.text ?? '',
    lifeMs: ORIGIN_LIFE_MS,
    hashes: state?.hashes ?? '',
    body: bytes,
    elapsedMs: elapsedMs.toFixed(3),
    domain: registrableDomain(host) ?? host,
  }
  const items = delays.flatMap(({ agent, delayMs: delay = '', clampedFrom = '' }) =>
    DELAY_ITEM.write({ agent, delayMs: delay, clampedFrom }),
  )
  const { values } = await scripts.call('record', args, items)
  return values[0] as Result
}
