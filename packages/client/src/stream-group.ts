/**
 * Redis Streams' consumer groups, as far as outcomes need them. A call that looks at a group and acts on what it saw is one
 * script, because between two commands a consumer that seemed dead may read again.
 */
import { libraryOf, type RedisLink } from '@decorum/ledger'
import { type Outcome, readOutcome } from '@decorum/protocol'

/** What XREADGROUP answers: streams, their entries, an entry's fields (null when it has been trimmed). */
export type Reply = [stream: string, entries: [id: string, fields: string[] | null][]][] | null

/** One entry of a stream. */
export type Entry = {
  stream: string
  id: string
  /** undefined: the entry holds none (it was trimmed, or somebody else wrote it), so all that is left is to acknowledge it */
  outcome: Outcome | undefined
}

/** Field of an entry that holds the outcome (docs/spec/design.md §5). */
const FIELD = 'o'
/** Most entries taken over in one call. */
export const TAKEN_OVER_AT_ONCE = 200

export function entriesOf(reply: Reply): Entry[] {
  return (reply ?? []).flatMap(([stream, list]) =>
    list.map(([id, fields]): Entry => {
      const at = fields === null ? -1 : fields.indexOf(FIELD)
      return { stream, id, outcome: at >= 0 && at % 2 === 0 ? readOutcome(fields?.[at + 1] ?? '') : undefined }
    }),
  )
}

const lua = libraryOf({ folder: new URL('./lua/', import.meta.url) })
const takeOver = lua.script('take-over', ['group', 'me', 'deadAfterMs', 'most'])

/** Takes over the entries of consumers that have sent nothing for `deadAfterMs`; a bounded number at once. */
export async function claimFromDead(
  redis: RedisLink,
  stream: string,
  group: string,
  me: string,
  deadAfterMs: number,
  most = TAKEN_OVER_AT_ONCE,
): Promise<Entry[]> {
  const list = await takeOver.run(redis, [stream], { group, me, deadAfterMs, most })
  return entriesOf([[stream, list as [string, string[] | null][]]])
}

/** No id is greater than this one. (The very last id would mean `>`: new entries.) */
const BEHIND_ALL = '18446744073709551615-18446744073709551614'

/** A consumer's heartbeat: it reads a part of its own history that is always empty. */
export function sayAlive(redis: RedisLink, streams: string[], group: string, me: string): Promise<unknown> {
  const ids = streams.map(() => BEHIND_ALL)
  return redis.xreadgroup('GROUP', group, me, 'COUNT', 1, 'STREAMS', ...streams, ...ids)
}

/** Entries of one stream that a consumer was given and has not acknowledged; at most so many, the oldest. */
export async function heldBy(
  redis: RedisLink,
  stream: string,
  group: string,
  me: string,
  most: number,
): Promise<string[]> {
  const rows = (await redis.xpending(stream, group, '-', '+', most, me)) as [id: string][]
  return rows.map(([id]) => id)
}
