/**
 * The readers of a crawl's outcomes: each consumer group, what it has not acknowledged and for how long, and its consumers. Groups can be
 * removed, because outcomes that any group has not acknowledged stay stored, and at OUTCOMES_LIMIT that stops the crawl.
 */
import { outcomesKey } from '@decorum/protocol'
import { keysOf } from './layout.ts'
import type { RedisLink } from './link.ts'
import { forgetGroup, READERS, readGroups } from './stream-scripts.ts'
import { thatAnswer } from './that-answer.ts'

export type Reader = {
  crawl: string
  group: string
  /** number of outcomes that were not yet delivered to the group */
  lag: number
  /** true: `lag` is a lower bound, because Redis cannot count the rest */
  lagIsLeast: boolean
  /** number of outcomes that were delivered and not acknowledged */
  pending: number
  /** the oldest unacknowledged outcome: its entry in the stream, and the candidate's id if it can be read */
  oldest?: { entry: string; id?: string; ageMs: number }
  /** time since the latest activity of any of its consumers; absent: it has no consumer */
  idleMs?: number
  /** at most CONSUMERS_SHOWN, those with most pending outcomes first */
  consumers: Consumer[]
  consumerCount: number
}
export type Consumer = { name: string; idleMs: number; pending: number }

/** Number of groups and consumers listed for one crawl: those with most to read. */
export const READERS_SHOWN = READERS.shown
const CONSUMERS_SHOWN = 20
/** A reader that is inactive for this long counts as dead: others take over its entries. */
export const READER_DEAD_AFTER_MS = 60_000

type GroupFacts = {
  group: string
  oldest: string
  ageMs?: number
  id?: string
  lag: number
  least: 0 | 1
  pending: number
  /** `{}` when empty: Lua does not distinguish an empty array from an empty object */
  consumers: Consumer[] | Record<string, never>
}

/**
 * The groups that read a crawl, those with most to read first, from the partitions that answer.
 * @param tags  including retired ones, whose streams hold outcomes
 */
export async function readersOf(redis: RedisLink, tags: readonly string[], crawl: string): Promise<Reader[]> {
  const answers = await thatAnswer(
    tags.map(async (tag) => {
      const text = (await readGroups.run(redis, [outcomesKey(tag, crawl)], {})) as string
      return JSON.parse(text) as GroupFacts[]
    }),
  )
  const byGroup = Map.groupBy(
    answers.flatMap((groups) => (Array.isArray(groups) ? groups : [])),
    ({ group }) => group,
  )
  return [...byGroup]
    .map(([group, groups]) => readerOf(crawl, group, groups))
    .sort((a, b) => b.lag + b.pending - (a.lag + a.pending) || (a.group < b.group ? -1 : 1))
    .slice(0, READERS_SHOWN)
}

function readerOf(crawl: string, group: string, groups: GroupFacts[]): Reader {
  const consumers = consumersOf(groups)
  const [oldest] = groups.filter((one) => one.oldest !== '').sort((a, b) => (b.ageMs ?? 0) - (a.ageMs ?? 0))
  return {
    crawl,
    group,
    lag: groups.reduce((sum, one) => sum + one.lag, 0),
    lagIsLeast: groups.some((one) => one.least === 1),
    pending: groups.reduce((sum, one) => sum + one.pending, 0),
    ...(oldest === undefined
      ? {}
      : {
          oldest: {
            entry: oldest.oldest,
            ...(oldest.id === undefined ? {} : { id: oldest.id }),
            ageMs: oldest.ageMs ?? 0,
          },
        }),
    ...(consumers.length === 0 ? {} : { idleMs: Math.min(...consumers.map(({ idleMs }) => idleMs)) }),
    consumers: consumers.slice(0, CONSUMERS_SHOWN),
    consumerCount: consumers.length,
  }
}

/** The consumers of all partitions, one for each name. */
function consumersOf(groups: GroupFacts[]): Consumer[] {
  const all = groups.flatMap(({ consumers }) => (Array.isArray(consumers) ? consumers : []))
  const byName = Map.groupBy(all, ({ name }) => name)
  return [...byName]
    .map(([name, some]) => ({
      name,
      idleMs: Math.min(...some.map(({ idleMs }) => idleMs)),
      pending: some.reduce((sum, { pending }) => sum + pending, 0),
    }))
    .sort((a, b) => b.pending - a.pending || a.idleMs - b.idleMs)
}

export type Forgetting = {
  crawl: string
  group: string
  by: string
  reason: string
  /** a group stays if one of its consumers was active within this time */
  silentForMs: number
}
/** `unread`: number of outcomes that the group had not acknowledged */
export type Forgotten = { kind: 'forgotten'; unread: number } | { kind: 'absent' } | { kind: 'still-read' }

const MAX_TEXT = 512

/**
 * Forgets a group in every partition. The person and the reason are recorded in each partition where the group had outcomes to read, and at
 * least once.
 * @throws any error of Redis, if a partition does not answer: the others have forgotten the group, and repeating the call is safe
 */
export async function forgetReader(
  redis: RedisLink,
  tags: readonly string[],
  { crawl, group, by, reason, silentForMs }: Forgetting,
): Promise<Forgotten> {
  const texts = { by: by.slice(0, MAX_TEXT), reason: reason.slice(0, MAX_TEXT), crawl }
  let answer: Forgotten = { kind: 'absent' }
  for (const tag of tags) {
    const isFirst = answer.kind !== 'forgotten' ? '1' : '0'
    const keys = [outcomesKey(tag, crawl), keysOf(tag).operations]
    const args = { group, silentForMs, isFirst, ...texts }
    const groups = await forgetGroup.run(redis, keys, args)
    const [kind, unread] = groups as [Forgotten['kind'], number]
    if (kind === 'forgotten') answer = { kind, unread: unread + (answer.kind === 'forgotten' ? answer.unread : 0) }
    else if (kind === 'still-read' && answer.kind === 'absent') answer = { kind }
  }
  return answer
}

/**
 * The group that a crawl waits for: the one with most to read, when some partition holds so many outcomes that dispatch has paused.
 * @param unread  outcomes stored in each partition
 */
export function readerInTheWay(
  readers: readonly Reader[],
  unread: readonly number[],
  outcomesLimit: number,
): Reader | undefined {
  if (unread.every((count) => count < outcomesLimit)) return undefined
  const [first] = readers
  return first !== undefined && first.lag + first.pending > 0 ? first : undefined
}

/** Whether a reader is active under this name now. */
export const isRead = ({ idleMs }: Reader): boolean => idleMs !== undefined && idleMs < READER_DEAD_AFTER_MS
