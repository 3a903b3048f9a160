/** Reads about origins that need no script. */
import type { Deadline } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import { FIELD, type Keys } from './layout.ts'
import type { RedisLink } from './link.ts'
import { readState, withRobotsFetch } from './records/state-text.ts'
import { readBody } from './records/stored-body.ts'
import { type Scripts, withDeadline } from './scripts.ts'

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

/** The robots states of origins of one partition, in order. */
export async function robotsStatesOf(
  redis: RedisLink,
  keys: Keys,
  scripts: Scripts,
  origins: string[],
  deadline: Deadline,
): Promise<{ version: number; state: RobotsState }[]> {
  // Not a pipeline: ioredis gives each pipeline a property for every script of its client.
  const answers = Promise.all(origins.map((origin) => redis.hmget(keys.origin(origin), ...STATE_FIELDS)))
  return (await withDeadline(answers, deadline, 'states')).map(([state, version, fence, until, ends]) => {
    const now = scripts.now()
    const known = readState(ends && Number(ends) <= now ? '' : (state ?? ''))
    return { version: Number(version ?? 0), state: withRobotsFetch(known, fence ?? '', until ?? '', now) }
  })
}
