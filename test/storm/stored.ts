/** What Redis still holds of what was accepted, and the time in which all of it ends. */
import { setTimeout as sleep } from 'node:timers/promises'
import { now as clock } from '@decorum/cli/synthetic-web'
import { keysOf, LIST, readLaneRecord, readPending } from '@decorum/ledger/testing'
import { partitionTags } from '@decorum/protocol'
import { Redis } from 'ioredis'
import type { Book } from './book.ts'

const LOOK_MS = 1_000

/** Until every accepted candidate has its outcome, or what has none is not stored either: nobody could still bring it. */
export async function calm(
  book: Pick<Book, 'waiting'>,
  redisUrl: string,
  partitions: number,
  mostMs: number,
): Promise<void> {
  const until = clock() + mostMs
  for (let gone = 0; gone < 2 && clock() < until;) {
    await sleep(LOOK_MS)
    if (book.waiting().length === 0) return
    const stored = await storedIds(redisUrl, partitions)
    gone = book.waiting().some((id) => stored.has(id)) ? 0 : gone + 1
  }
}

/** Until the frontier has been handed every outcome and has acknowledged it. */
export async function untilRead(redisUrl: string, partitions: number, mostMs: number): Promise<void> {
  const redis = new Redis(redisUrl)
  const until = clock() + mostMs
  try {
    while (clock() < until && (await unreadIn(redis, partitions)) > 0) await sleep(LOOK_MS)
  } finally {
    redis.disconnect()
  }
}

async function unreadIn(redis: Redis, partitions: number): Promise<number> {
  let unread = 0
  for (const tag of partitionTags(partitions)) {
    const groups = (await redis.xinfo('GROUPS', keysOf(tag).outcomes).catch(() => [])) as unknown[][]
    for (const group of groups)
      for (const what of ['lag', 'pending']) unread += Number(group[group.indexOf(what) + 1] ?? 0)
  }
  return unread
}

/** Ids in lanes, in jobs of `candidates`, in the outbox. */
export async function storedIds(url: string, partitions: number): Promise<Set<string>> {
  const redis = new Redis(url)
  const ids = new Set<string>()
  try {
    for (const tag of partitionTags(partitions)) {
      const keys = keysOf(tag)
      for (const record of await redis.hvals(keys.lanes)) {
        const { first } = readLaneRecord(record)
        if (first !== '') ids.add(readPending(first, 'normal').id)
      }
      for (const list of Object.values(LIST)) {
        const prefix = keys.list(list, '')
        for (const key of await redis.keys(`${prefix.replace(/[[\]]/g, '\\$&')}*`)) {
          const entries = await redis.lrange(key, 0, -1)
          const record = readLaneRecord((await redis.hget(keys.lanes, key.slice(prefix.length))) ?? '')
          if (list === LIST.normal && !record.more) continue // the ledger would never find them, so they are not stored
          for (const entry of entries) ids.add(readPending(entry, 'normal').id)
        }
      }
      for (const [, fields] of await redis.xrange(keys.outbox, '-', '+'))
        ids.add((JSON.parse(fields[1] ?? '{}') as { id: string }).id)
      for (const json of await redis.zrange(keys.later, '0', '-1')) ids.add((JSON.parse(json) as { id: string }).id)
      for (const key of await redis.keys(`${tag}:candidates:*`)) {
        if ((await redis.type(key)) !== 'hash') continue
        const data = JSON.parse((await redis.hget(key, 'data')) ?? '{}') as { candidates?: { id: string }[] }
        for (const { id } of data.candidates ?? []) ids.add(id)
      }
    }
  } finally {
    redis.disconnect()
  }
  return ids
}
