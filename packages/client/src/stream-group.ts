/** Redis Streams' consumer groups, as far as outcomes need them. */
import type { RedisLink } from '@decorum/ledger'
import type { Outcome } from '@decorum/protocol'

/** What XREADGROUP answers: streams, their entries, an entry's fields (null when it has been trimmed). */
export type Reply = [stream: string, entries: [id: string, fields: string[] | null][]][] | null

/** One entry of a stream. */
export type Entry = { stream: string; id: string; outcome: Outcome }

/** Field of an entry that holds the outcome (design §5). */
const FIELD = 'o'
/** Entries taken over in one call. */
const CLAIM = 200

/** Cuts a reply into entries that hold an outcome, and those that do not. */
export function entriesOf(reply: Reply): { entries: Entry[]; unreadable: { stream: string; id: string }[] } {
  const entries: Entry[] = []
  const unreadable: { stream: string; id: string }[] = []
  for (const [stream, list] of reply ?? []) {
    for (const [id, fields] of list) {
      const at = fields === null ? -1 : fields.indexOf(FIELD)
      const outcome = at >= 0 && at % 2 === 0 ? readOutcome(fields?.[at + 1]) : undefined
      if (outcome === undefined) unreadable.push({ stream, id })
      else entries.push({ stream, id, outcome })
    }
  }
  return { entries, unreadable }
}

function readOutcome(text: string | undefined): Outcome | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null && 'id' in value ? (value as Outcome) : undefined
  } catch {
    return undefined
  }
}

type Consumer = { name: string; pending: number; idle: number }

/**
 * Takes over what consumers hold that have been silent for `deadAfterMs`. By the consumer's silence, not the entry's
 * age: a slow reader that still asks for more keeps what it has (XAUTOCLAIM would take it away).
 */
export async function claimFromDead(
  redis: RedisLink,
  stream: string,
  group: string,
  me: string,
  deadAfterMs: number,
): Promise<Entry[]> {
  const consumers = await consumersOf(redis, stream, group)
  const dead = consumers.filter((one) => one.name !== me && one.idle >= deadAfterMs)
  const claimed: Entry[] = []
  for (const { name, pending } of dead) {
    if (pending === 0) {
      await redis.xgroup('DELCONSUMER', stream, group, name)
      continue
    }
    const held = (await redis.xpending(stream, group, 'IDLE', deadAfterMs, '-', '+', CLAIM, name)) as [
      id: string,
      ...unknown[],
    ][]
    if (held.length === 0) continue
    const ids = held.map(([id]) => id)
    const list = (await redis.call('XCLAIM', stream, group, me, deadAfterMs, ...ids)) as [string, string[] | null][]
    claimed.push(...entriesOf([[stream, list]]).entries)
  }
  return claimed
}

async function consumersOf(redis: RedisLink, stream: string, group: string): Promise<Consumer[]> {
  const rows = (await redis.xinfo('CONSUMERS', stream, group)) as (string | number)[][]
  return rows.map((row) => {
    const field = (name: string): string | number | undefined => row[row.indexOf(name) + 1]
    return { name: String(field('name')), pending: Number(field('pending')), idle: Number(field('idle')) }
  })
}
