/** What is read of candidates without a script: whether they are stored, and whether some have not been taken in yet. */

import { KEY, type Keys } from './layout.ts'
import type { RedisLink } from './link.ts'
import { idSlot } from './records/entry.ts'
import { withDeadline } from './scripts.ts'

/** Ids that one pipeline asks for. */
const BATCH = 1_000

/** @returns for each id of one partition whether a candidate of that id is stored: pending, or in flight */
export async function areStored(
  redis: RedisLink,
  keys: Keys,
  ids: readonly string[],
  callDeadlineMs: number,
): Promise<boolean[]> {
  const found: boolean[] = []
  for (let at = 0; at < ids.length; at += BATCH) {
    const pipeline = redis.pipeline()
    for (const id of ids.slice(at, at + BATCH)) {
      const { bucket, number } = idSlot(id)
      pipeline.sismember(keys.ids(bucket), number)
    }
    for (const [error, value] of (await withDeadline(pipeline.exec(), callDeadlineMs, 'areStored')) ?? []) {
      if (error !== null) throw error
      found.push(value === 1)
    }
  }
  return found
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
  let count = 0
  for (const [error, value] of (await withDeadline(pipeline.exec(), callDeadlineMs, 'waitingForIntake')) ?? []) {
    if (error !== null) throw error
    count += Number(value)
  }
  return count
}
