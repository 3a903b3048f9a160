/**
 * How full Redis is, and how much of it is kept free. From HEADROOM.intake on no URLs are taken in, so that there is room for the work that
 * frees memory: fetching a page frees its URL, and reading an outcome frees that outcome.
 */
import type { Deadline } from '@decorum/protocol'
import { infoField } from './info.ts'
import { mastersOf, type RedisLink } from './link.ts'
import { withDeadline } from './scripts.ts'

/**
 * Shares of maxmemory. `shares`: a crawl with more than its share of the stored URLs is refused (crawls/shares.ts) when this much is used,
 * or will be, so that one frontier leaves room for the others. `intake`: frontiers are refused, no robots.txt is fetched unless a URL waits
 * for it, and gateways take in only enough to keep fetchers busy. `outcomes`: crawls whose outcomes are not read wait early. `over`:
 * nothing is taken in at all; jobs that are on their way when Redis is full are stored beyond its maxmemory.
 */
export const HEADROOM = { shares: 0.72, intake: 0.8, outcomes: 0.85, over: 1.05 } as const

/** In bytes; `most` is maxmemory, 0 if unlimited. With several masters, the fullest one. */
export type RedisMemory = { used: number; most: number; share: number }

/** @throws LedgerUnavailableError when no master answers */
export async function memoryOf(redis: RedisLink, deadline: Deadline): Promise<RedisMemory> {
  const replies = mastersOf(redis).map((server) => withDeadline(server.info('memory'), deadline, 'memory'))
  const answers = await Promise.allSettled(replies)
  const known = answers.flatMap((one) => (one.status === 'fulfilled' ? [readMemory(one.value)] : []))
  const fullest = known.toSorted((one, other) => other.share - one.share)[0]
  if (fullest !== undefined) return fullest
  for (const one of answers) if (one.status === 'rejected') throw one.reason
  return { used: 0, most: 0, share: 0 }
}

/** Reads `INFO memory`. As in the comparison that Redis makes, buffers of replicas and the append-only file do not count. */
export function readMemory(info: string): RedisMemory {
  const field = (name: string): number => Number(infoField(info, name))
  const most = field('maxmemory')
  const used = Math.max(0, field('used_memory') - field('mem_not_counted_for_evict'))
  return { used, most, share: most > 0 ? used / most : 0 }
}

/** The share of memory that unread outcomes may use while little is left, and the approximate size of one outcome. */
const UNREAD_SHARE = 0.02
const OUTCOME_BYTES = 2_048
const LEAST_UNREAD = 100

/** Number of unread outcomes at which a crawl waits: `usual` in each partition, and fewer while little memory is left. */
export const outcomesAllowed = (usual: number, { share, most }: RedisMemory, partitions: number): number =>
  share < HEADROOM.outcomes
    ? usual
    : Math.min(usual, Math.max(LEAST_UNREAD, Math.floor((most * UNREAD_SHARE) / OUTCOME_BYTES / partitions)))
