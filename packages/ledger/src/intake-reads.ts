/** What is read of candidates without a script: whether they are stored, and whether some have not been taken in yet. */

import { KEY, type Keys } from './layout.ts'
import type { RedisLink } from './link.ts'
import { idSlot } from './records/entry.ts'
import { answersOf } from './scripts.ts'

/** @returns for each id of one partition whether a candidate of that id is stored: pending, or in flight */
export async function areStored(
  redis: RedisLink,
  keys: Keys,
  ids: readonly { id: string; crawl?: string | undefined }[],
  callDeadlineMs: number,
): Promise<boolean[]> {
  const pipeline = redis.pipeline()
  for (const { id, crawl } of ids) {
    const { bucket, number } = idSlot(id, crawl)
    pipeline.sismember(keys.ids(bucket), number)
  }
  return (await answersOf(pipeline, callDeadlineMs, 'areStored')).map((value) => value === 1)
}

/** BullMQ's keys of jobs that have not ended: lists and sorted sets. */
const LISTS = ['wait', 'active', 'paused'] as const
const SORTED_SETS = ['delayed', 'prioritized'] as const

/** @returns jobs of candidates and redirect targets of one partition that no gateway has stored in lanes yet */
export async function waitingForIntake(
  redis: RedisLink,
  { tag, outbox }: Keys,
  callDeadlineMs: number,
): Promise<number> {
  const pipeline = redis.pipeline().xlen(outbox)
  for (const name of LISTS) pipeline.llen(`${tag}:${KEY.candidateJob}${name}`)
  for (const name of SORTED_SETS) pipeline.zcard(`${tag}:${KEY.candidateJob}${name}`)
  const counts = await answersOf(pipeline, callDeadlineMs, 'waitingForIntake')
  return counts.reduce<number>((sum, count) => sum + Number(count), 0)
}
