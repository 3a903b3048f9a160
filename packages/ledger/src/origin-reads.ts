/** What is read of origins without a script. */
import type { Deadline } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import { FIELD, type Keys } from './layout.ts'
import type { RedisLink } from './link.ts'
import { readState, withRobotsFetch } from './records/state-text.ts'
import { readBody } from './records/stored-body.ts'
import { answersOf, type Scripts, withDeadline } from './scripts.ts'

export async function bodyOf(
  redis: RedisLink,
  keys: Keys,
  hash: string,
  deadline: Deadline,
): Promise<Uint8Array | undefined> {
  const stored = await withDeadline(redis.getBuffer(keys.body(hash)), deadline, 'body')
  return stored === null ? undefined : readBody(stored)
}

const STATE_FIELDS = [
  ...[FIELD.robotsState, FIELD.version, FIELD.fetchFence, FIELD.fetchUntil],
  FIELD.robotsStateEnds,
] as const

/** Of origins of one partition, in order. */
export async function robotsStatesOf(
  redis: RedisLink,
  keys: Keys,
  scripts: Scripts,
  origins: string[],
  deadline: Deadline,
): Promise<{ version: number; state: RobotsState }[]> {
  if (origins.length === 0) return []
  const pipeline = redis.pipeline()
  for (const origin of origins) pipeline.hmget(keys.origin(origin), ...STATE_FIELDS)
  const answers = await answersOf(pipeline, deadline, 'states')
  return answers.map((value) => {
    const [state, version, fence, until, ends] = value as (string | null)[]
    const now = scripts.now()
    const known = readState(ends && Number(ends) <= now ? '' : (state ?? ''))
    return { version: Number(version ?? 0), state: withRobotsFetch(known, fence ?? '', until ?? '', now) }
  })
}
