/**
 * Moves origins, and the keys and entries that are named after a lane, an origin or a host, as KEY_MOVES says. They are found by name, in
 * one pass over each server.
 */

import { hostOf, ORDERS, partitionOf } from '@decorum/protocol'
import { mastersOf } from '../index.ts'
import { type Arg, KEY, KEY_MOVES, type KeyMove, type Owner, readLaneName } from '../stored.ts'
import { copyKey, liveAtLeast, type Mover } from './copy-key.ts'
import { moveOrigin } from './move-origin.ts'
import type { Ahead } from './server-clocks.ts'

const PAGE = 500

/** The partitions of a move, and its progress. */
export type Place = Mover & {
  /** the partitions before the change, including retired ones; those after it; and both */
  there: readonly string[]
  tags: readonly string[]
  all: readonly string[]
  ahead: Ahead
  /** called after each move of a lane or an origin */
  moved(kind: 'lanes' | 'origins', urls?: number): void
}

type Entries = Extract<KeyMove, { entries: Owner }>
/** The commands for a key with entries of this kind. */
const COMMANDS = {
  hash: { scan: 'hscanBufferStream', put: 'HSET', drop: 'HDEL' }, // values may be packed; as text they would lose bytes
  set: { scan: 'sscanStream', put: 'SADD', drop: 'SREM' },
  zset: { scan: 'zscanStream', put: 'ZADD', drop: 'ZREM' },
} as const

/** Splits the key of a partition into its name in KEY and the text behind its colon. */
function keyOf(rest: string): { key: keyof typeof KEY; name: string } | undefined {
  for (const [key, text] of Object.entries(KEY) as [keyof typeof KEY, string][])
    if (rest === text || (text.endsWith(':') && rest.startsWith(text))) return { key, name: rest.slice(text.length) }
  return undefined
}

/**
 * The partition of a lane, an origin or a host.
 * @param here  its present partition; a name of another form, such as '@example.com', stays there
 */
export function homeOf(tags: readonly string[], owner: Owner, name: string, here: string): string {
  if (owner === 'host' && name.startsWith('@')) return here
  const host = owner === 'host' ? name : hostOf(owner === 'lane' ? readLaneName(name).origin : name)
  return tags[partitionOf(host, tags.length)] ?? here
}

/** Moves the keys of all partitions. Orders in partitions that retire are dropped, because none of them can be started. */
export async function moveKeys(place: Place): Promise<void> {
  for (const server of mastersOf(place.redis)) {
    const pages: AsyncIterable<string[]> = server.scanStream({ match: '{decorum:*', count: PAGE })
    for await (const keys of pages)
      for (const key of keys) {
        const end = key.indexOf('}') + 1
        const from = key.slice(0, end)
        if (place.all.includes(from)) await moveKey(place, from, key.slice(end + 1))
      }
  }
}

async function moveKey(place: Place, from: string, rest: string): Promise<void> {
  const { change, tags, ahead } = place
  if (rest.startsWith(`${ORDERS}:`) && !tags.includes(from)) await change.write(from, ['UNLINK', `${from}:${rest}`])
  const found = keyOf(rest)
  if (found === undefined) return
  const move: KeyMove = KEY_MOVES[found.key]
  if ('entries' in move) return moveEntries(place, from, rest, move)
  const owner = found.key === 'origin' ? 'origin' : 'key' in move ? move.key : undefined
  const to = owner === undefined ? from : homeOf(tags, owner, found.name, from)
  if (to === from) return
  if (found.key === 'origin') {
    await moveOrigin(place, from, to, found.name, ahead(from, to))
    place.moved('origins')
  } else if (await copyKey(place, `${from}:${rest}`, to, `${to}:${rest}`))
    await change.write(from, ['UNLINK', `${from}:${rest}`])
}

/** Moves entries of one key. An entry replaces its copy from an earlier try; the target lives at least as long as this key. */
async function moveEntries(
  { redis, change, tags, ahead }: Place,
  from: string,
  name: string,
  { entries: owner, in: kind, instants }: Entries,
): Promise<void> {
  const [key, { scan, put, drop }] = [`${from}:${name}`, COMMANDS[kind]]
  const lifeMs = await redis.pttl(key)
  const pages: AsyncIterable<(string | Buffer)[]> = redis[scan](key, { count: PAGE })
  for await (const flat of pages) {
    const leaving = new Map<string, { names: string[]; items: Arg[] }>()
    for (let at = 0; at < flat.length; at += kind === 'set' ? 1 : 2) {
      const [entry, value = ''] = [String(flat[at]), flat[at + 1]]
      const to = homeOf(tags, owner, entry, from)
      if (to === from) continue
      const { names, items } = leaving.get(to) ?? { names: [], items: [] }
      leaving.set(to, { names, items })
      const moved = instants ? movedOn(value, ahead(from, to)) : value
      names.push(entry)
      items.push(...(kind === 'hash' ? [entry, moved] : kind === 'zset' ? [moved, entry] : [entry]))
    }
    for (const [to, { names, items }] of leaving) {
      const target = `${to}:${name}`
      const life = lifeMs < 0 ? [['PERSIST', target]] : liveAtLeast(target, Math.max(lifeMs, 1))
      await change.write(to, [put, target, ...items], ...life)
      await change.write(from, [drop, key, ...names])
    }
  }
}

/** @param value  a score, or a packed value of a hash that begins with the instant (LAST in layout.ts) */
function movedOn(value: string | Buffer, byMs: number): Arg {
  if (typeof value === 'string') return String(Number(value) + byMs)
  const moved = Buffer.from(value)
  moved.writeDoubleLE(moved.readDoubleLE(0) + byMs, 0)
  return moved
}
