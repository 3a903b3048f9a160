/**
 * Moves what does not go along with a lane or an origin: keys and entries that KEY_MOVES says belong to a lane, an origin or a host. They
 * are found by their names, in one pass over each server.
 */
import { mastersOf } from '@decorum/ledger'
import { type Arg, KEY, KEY_MOVES, type KeyMove, type Owner, readLaneName } from '@decorum/ledger/stored'
import { hostOf, ORDERS, partitionOf } from '@decorum/protocol'
import { copyKey, type Mover } from './copy-key.ts'
import { moveOrigin } from './move-origin.ts'
import { moveScripts } from './scripts.ts'
import { aheadMs, type Clock } from './server-clocks.ts'

const PAGE = 500

export type Place = Mover & {
  /** those of the partitions that there are to be */
  tags: readonly string[]
  clocks: Map<string, Clock>
  /** one more origin has moved */
  onOrigin: () => void
}

/** The key of a partition, as KEY has it, and what stands behind its colon. */
export function keyOf(rest: string): { key: keyof typeof KEY; name: string } | undefined {
  for (const [key, text] of Object.entries(KEY) as [keyof typeof KEY, string][])
    if (rest === text || (text.endsWith(':') && rest.startsWith(text))) return { key, name: rest.slice(text.length) }
  return undefined
}

/** The partition of a lane, an origin or a host; undefined for a name that is none of these, such as '@example.com'. */
export function homeOf(tags: readonly string[], owner: Owner, name: string): string | undefined {
  if (owner === 'host') return name.startsWith('@') ? undefined : tags[partitionOf(name, tags.length)]
  const origin = owner === 'lane' ? readLaneName(name).origin : name
  return tags[partitionOf(hostOf(origin), tags.length)]
}

/** Orders of partitions that retire are dropped on the way: none can be started. */
export async function moveKeys(place: Place, all: readonly string[]): Promise<void> {
  for (const server of mastersOf(place.redis)) {
    let cursor = '0'
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', '{decorum:*', 'COUNT', PAGE)
      cursor = next
      for (const key of keys) {
        const end = key.indexOf('}') + 1
        const [from, rest] = [key.slice(0, end), key.slice(end + 1)]
        if (all.includes(from)) await moveKey(place, from, rest)
      }
    } while (cursor !== '0')
  }
}

async function moveKey(place: Place, from: string, rest: string): Promise<void> {
  const { change, tags, clocks } = place
  if (rest.startsWith(`${ORDERS}:`) && !tags.includes(from))
    await change.write(from, moveScripts.dropKey, { key: `${from}:${rest}` })
  const found = keyOf(rest)
  if (found === undefined) return
  const { key, name } = found
  const move: KeyMove = KEY_MOVES[key]
  if (key === 'origin') {
    const to = homeOf(tags, 'origin', name)
    if (to === undefined || to === from) return
    await moveOrigin(place, from, to, name, aheadMs(clocks, from, to))
    place.onOrigin()
  } else if ('key' in move) {
    const to = homeOf(tags, move.key, name)
    if (to === undefined || to === from) return
    await copyKey(place, `${from}:${rest}`, to, `${to}:${rest}`)
    await change.write(from, moveScripts.dropKey, { key: `${from}:${rest}` })
  } else if ('entries' in move) await moveEntries(place, from, rest, move)
}

/** An entry replaces one of the same name: what lies there was brought by an earlier try. */
async function moveEntries(
  { redis, change, tags, clocks }: Place,
  from: string,
  name: string,
  { entries: owner, in: kind, instants }: Extract<KeyMove, { entries: Owner }>,
): Promise<void> {
  const key = `${from}:${name}`
  const life = await redis.pttl(key)
  const lifeMs = life < 0 ? '' : Math.max(life, 1)
  let cursor = '0'
  do {
    // Values of a hash may be packed, and a text would not hold their bytes.
    const [next, flat] = await (kind === 'hash'
      ? redis.hscanBuffer(key, cursor, 'COUNT', PAGE)
      : kind === 'set'
        ? redis.sscan(key, cursor, 'COUNT', PAGE)
        : redis.zscan(key, cursor, 'COUNT', PAGE))
    cursor = String(next)
    const leaving = new Map<string, { names: string[]; items: Arg[] }>()
    for (let at = 0; at < flat.length; at += kind === 'set' ? 1 : 2) {
      const [entry, value] = [String(flat[at]), flat[at + 1] ?? '']
      const to = homeOf(tags, owner, entry)
      if (to === undefined || to === from) continue
      const { names, items } = leaving.get(to) ?? { names: [], items: [] }
      leaving.set(to, { names, items })
      names.push(entry)
      if (kind === 'set') items.push(entry)
      else {
        const moved = instants ? movedOn(value, aheadMs(clocks, from, to)) : value
        items.push(...(kind === 'hash' ? [entry, moved] : [moved, entry]))
      }
    }
    for (const [to, { names, items }] of leaving) {
      await change.write(to, moveScripts.putEntries, { name, kind, lifeMs }, items)
      await change.write(from, moveScripts.dropEntries, { name, kind }, names)
    }
  } while (cursor !== '0')
}

/** @param value  a score, or what a hash has packed: it begins with the instant (LAST in layout.ts) */
function movedOn(value: string | Buffer, byMs: number): Arg {
  if (typeof value === 'string') return String(Number(value) + byMs)
  const moved = Buffer.from(value)
  moved.writeDoubleLE(moved.readDoubleLE(0) + byMs, 0)
  return moved
}
