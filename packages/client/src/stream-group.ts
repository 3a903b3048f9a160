/**
 * Consumer groups of Redis Streams, with the calls that outcomes need. A call that reads a group and then changes it is one
 * script, because a consumer that seemed dead may read again between two commands.
 */
import { libraryOf, type RedisLink } from '@decorum/ledger'
import { type Outcome, readOutcome } from '@decorum/protocol'

/** A reply of XREADGROUP: streams, their entries, an entry's fields (null when it has been trimmed). */
export type Reply = [stream: string, entries: [id: string, fields: string[] | null][]][] | null

/** One entry of a stream. */
export type Entry = {
  stream: string
  id: string
  /** undefined: the entry holds no outcome (it was trimmed, or another program wrote it), so it can only be acknowledged */
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

/** The greatest id that can be given here. (The very last id would mean `>`: new entries.) */
const BEHIND_ALL = '18446744073709551615-18446744073709551614'

/** A consumer's heartbeat: reads a part of its own history that is always empty. */
export function sendHeartbeat(redis: RedisLink, streams: string[], group: string, me: string): Promise<unknown> {
  const ids = streams.map(() => BEHIND_ALL)
  return redis.xreadgroup('GROUP', group, me, 'COUNT', 1, 'STREAMS', ...streams, ...ids)
}

/** Unacknowledged entries of a consumer in one stream, oldest first, up to a limit. */
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
