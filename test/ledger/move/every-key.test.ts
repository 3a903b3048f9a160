/** A change of the number of partitions leaves nothing behind: what belongs to a host is where the host is afterwards, whatever key it is in. */
import { type Ledger, openLedger } from '@decorum/ledger'
import { EPOCH, KEY, KEY_MOVES, type KeyMove, keysOf } from '@decorum/ledger/testing'
import { partitionOf } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { PATIENT } from '../ledger-for-test.ts'
import { changeTo } from './change.ts'

const redis = await redisForTest()
const TIMES = { leaseMs: 400, quarantineMs: 100 }
const HOUR = 3_600_000
const HOSTS = Array.from({ length: 40 }, (_, n) => `s${n}.test`)
const originOf = (host: string): string => `http://${host}`
const laneOf = (host: string): string => `bot ${originOf(host)}`

async function empty(): Promise<Redis> {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.flushall()
  return raw
}

async function open(partitions: number): Promise<Ledger> {
  const ledger = await openLedger({ redis: redis.url, partitions, isNew: true, ...TIMES, ...PATIENT })
  onTestFinished(() => ledger.close())
  return ledger
}

/** Nothing is held and nobody runs: hosts may move at once. */
async function still(raw: Redis, ledger: Ledger): Promise<void> {
  for (const tag of [...ledger.tags, ...ledger.retired])
    if ((await raw.exists(keysOf(tag).epoch)) === 1) await raw.hset(keysOf(tag).epoch, EPOCH.holdUntil, 0)
}

const homeOf = (ledger: Ledger, host: string): string => ledger.tags[partitionOf(host, ledger.tags.length)] as string
/** Where something of a host is stored, beside its home. */
const NAME = { lane: laneOf, origin: originOf, host: (host: string) => host }

/** As LAST has it, but for what follows the instant. */
function packed(instant: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(instant)
  return bytes
}

const OF_HOSTS = (Object.entries(KEY_MOVES) as [keyof typeof KEY, KeyMove][]).filter(
  ([, move]) => 'entries' in move || 'key' in move,
)

test.each(OF_HOSTS)('%s: what belongs to a host is in its partition, and in no other one', async (key, move) => {
  const raw = await empty()
  const one = await open(1)
  await still(raw, one)
  const [tag = ''] = one.tags
  const text = KEY[key]
  const keyFor = (of: string, host: string): string =>
    `${of}:${text}${'key' in move ? NAME[move.key](host) : text.endsWith(':') ? 'some' : ''}`
  for (const [n, host] of HOSTS.entries()) {
    const at = keyFor(tag, host)
    if ('key' in move) await raw.rpush(at, host)
    else if ('entries' in move && move.in === 'hash')
      await raw.hset(at, NAME[move.entries](host), move.instants ? packed(n) : n)
    else if ('entries' in move && move.in === 'set') await raw.sadd(at, NAME[move.entries](host))
    else if ('entries' in move) await raw.zadd(at, n + 1, NAME[move.entries](host))
    await raw.pexpire(at, HOUR)
  }
  const valueIn = async (of: string, host: string): Promise<unknown> => {
    const at = keyFor(of, host)
    if ('key' in move) return (await raw.lindex(at, 0)) ?? undefined
    if (!('entries' in move)) return undefined
    if (move.in === 'hash') return (await raw.hgetBuffer(at, NAME[move.entries](host)))?.toString('hex')
    if (move.in === 'set') return (await raw.sismember(at, NAME[move.entries](host))) === 1 ? 'there' : undefined
    return (await raw.zscore(at, NAME[move.entries](host))) ?? undefined
  }
  const valuesAt = (of: string): Promise<unknown[]> => Promise.all(HOSTS.map((host) => valueIn(of, host)))
  const before = await valuesAt(tag)
  for (const [from, to] of [
    [1, 3],
    [3, 2],
    [2, 1],
  ] as const) {
    await changeTo(redis.url, to, TIMES)
    const after = await open(to)
    for (const other of [...after.tags, ...after.retired]) {
      const wanted = HOSTS.map((host, n) => (homeOf(after, host) === other ? before[n] : undefined))
      expect(await valuesAt(other), `${from} → ${to}, ${other}`).toEqual(wanted)
      for (const host of HOSTS)
        if ((await valueIn(other, host)) !== undefined) {
          const life = await raw.pttl(keyFor(other, host))
          expect(life, 'it ends when it would have ended').toBeGreaterThan(HOUR - 120_000)
          expect(life).toBeLessThanOrEqual(HOUR)
        }
    }
    await still(raw, after)
    await after.close()
  }
})
