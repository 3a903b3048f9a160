/** All that a Redis holds as text that a person can compare, and back. Bytes stand as the characters of Latin-1. */
import type { Redis } from 'ioredis'

export type StoredKey = {
  key: string
  type: string
  /** life that is left, ms, where it has one */
  lifeMs?: number
  /** a string; a list; of a hash, set or sorted set its members in order, each with its value or score where it has one; of a stream its entries' fields */
  value: string | string[] | string[][]
}

const text = (bytes: Buffer): string => bytes.toString('latin1')
const bytes = (characters: string): Buffer => Buffer.from(characters, 'latin1')

/** @param prefix  only keys that begin so */
export async function readStored(redis: Redis, prefix = ''): Promise<StoredKey[]> {
  const keys = (await redis.keys(`${prefix}*`)).toSorted()
  const stored: StoredKey[] = []
  for (const key of keys) {
    const type = await redis.type(key)
    const lifeMs = await redis.pttl(key)
    stored.push({ key, type, ...(lifeMs > 0 ? { lifeMs } : {}), value: await readValue(redis, key, type) })
  }
  return stored
}

async function readValue(redis: Redis, key: string, type: string): Promise<StoredKey['value']> {
  if (type === 'string') return text((await redis.getBuffer(key)) ?? Buffer.alloc(0))
  if (type === 'list') return (await redis.lrangeBuffer(key, 0, -1)).map(text)
  if (type === 'set') return (await redis.smembersBuffer(key)).map(text).toSorted()
  if (type === 'stream') return (await redis.xrange(key, '-', '+')).map(([, fields]) => fields)
  const read = type === 'hash' ? ['HGETALL', key] : ['ZRANGE', key, '0', '-1', 'WITHSCORES']
  const answer = (await redis.callBuffer(read[0] ?? '', ...read.slice(1))) as Buffer[] | Buffer[][]
  const flat = answer.flat().map(text)
  const pairs = Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n] ?? '', flat[2 * n + 1] ?? ''])
  return pairs.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))
}

export async function writeStored(redis: Redis, stored: readonly StoredKey[]): Promise<void> {
  for (const { key, type, lifeMs, value } of stored) {
    if (typeof value === 'string') await redis.set(key, bytes(value))
    else if (type === 'list') await redis.rpush(key, ...(value as string[]).map(bytes))
    else if (type === 'set') await redis.sadd(key, ...(value as string[]).map(bytes))
    else
      for (const one of value as string[][]) {
        const [name = '', second = ''] = one
        if (type === 'hash') await redis.hset(key, bytes(name), bytes(second))
        else if (type === 'zset') await redis.zadd(key, second, bytes(name))
        else await redis.xadd(key, '*', ...one)
      }
    if (lifeMs !== undefined) await redis.pexpire(key, lifeMs)
  }
}
