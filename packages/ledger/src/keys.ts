/** Every key that TypeScript touches by itself; the scripts build theirs from the same tag (lua/common.lua has the list). */

import { tagName } from '@decorum/protocol'

export const keysOf = (tag: string) => ({
  tag,
  /** the key that every script declares: it routes the call to the partition's slot */
  epoch: `${tag}:epoch`,
  /**
   * Declared beside it and never there: while a slot moves from one node of a cluster to another, Redis runs no script
   * that names a key which is there and one which is not (TRYAGAIN), and half of a partition must not be taken for the
   * whole. Its name says how many partitions the caller knows of.
   */
  count: (partitions: number | string) => `${tag}:of:${partitions}`,
  outcomes: `${tag}:outcomes`,
  outbox: `${tag}:outbox`,
  operations: `${tag}:operations`,
  /** channel: a lane has become due earlier than all others */
  wake: `${tag}:wake`,
  /** lane → what it remembers, and its first URL */
  lanes: `${tag}:lanes`,
  list: (list: 'q' | 'h', lane: string) => `${tag}:${list}:${lane}`,
  body: (hash: string) => `${tag}:b:${hash}`,
  origin: (origin: string) => `${tag}:o:${origin}`,
  /** key of what came in by another partition's queue, once parked */
  mark: (name: string) => `${tag}:mark:${name}`,
})
export type Keys = ReturnType<typeof keysOf>

/** The partitions' tags in order: a list. The one key outside every partition. */
export const PARTITIONS_KEY = 'decorum:partitions'
/** Tags from before the number was lowered: no host lives there any more, but outcomes and candidates may still lie there. */
export const RETIRED_KEY = '{decorum:partitions}:retired'
/** Somebody vouches that this Redis has never held a ledger: nothing can be on the wire. Gone with the first that opens one. */
export const NEW_KEY = '{decorum:partitions}:new'

/** What remembers that an outbox entry's candidate was parked, in whichever partition its host lives. */
export const outboxMark = (tag: string, entry: string): string => `outbox:${tagName(tag)}:${entry}`

/** A lane's name in Redis. Agent keys hold no blank, so the first one parts them. */
export const laneName = (agent: string, origin: string): string => `${agent} ${origin}`

export function readLaneName(name: string): { agent: string; origin: string } {
  const blank = name.indexOf(' ')
  return { agent: name.slice(0, blank), origin: name.slice(blank + 1) }
}
