/**
 * A permit as text: all data that its end needs, signed, so that any permits process can end it and none has to store it. Whether the
 * permit is still held is recorded only in the ledger.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type LeasedLane, type RedisLink, withDeadline } from '@decorum/ledger'
import { type Clock, DEFAULT_CRAWL, type Order } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import type { PaceLease, Turn } from '@decorum/sending'

/** Extra data in the permit of an order of a pool. Its URL stays first in its lane until the permit ends. */
export type OrderOfPermit = Pick<Order, 'priority' | 'attempt' | 'version' | 'crawl'> & {
  pool: string
  /** id of the candidate; absent in permits of an earlier release */
  id?: string
}

/** The leases of a request, before its permit is written. */
export type GrantedLeases = LeasedLane & {
  /** delay owed after the exchange, ms */
  delayMs: number
  paceLeases: readonly PaceLease[]
  /** absent: the URL is the crawler's own, and not from a lane */
  order?: OrderOfPermit
}

export function grantedLeases({ leases: { own, paceLeases } }: Turn): GrantedLeases {
  const { agent, origin, fence, delayMs } = own
  return { agent, origin, fence, delayMs, paceLeases }
}

export type Permit = GrantedLeases & {
  /** ms on the ledger's clock */
  grantedAt: number
  /** name of the holder's token; '' without tokens */
  holder: string
}

const MAC_BYTES = 16
const MAX_CHARS = 4_096

export class PermitIds {
  readonly #key: () => Promise<Buffer>
  constructor(key: () => Promise<Buffer>) {
    this.#key = key
  }

  /** Loads the key before anything is granted: afterwards permits can be written and read even without Redis. @throws LedgerUnavailableError */
  async ready(): Promise<void> {
    await this.#key()
  }

  async write({ agent, origin, fence, delayMs, grantedAt, paceLeases, holder, order }: Permit): Promise<string> {
    const above = paceLeases.map((one) => [one.agent, one.origin, one.fence, one.delayMs, one.ofSite ? 1 : 0])
    const of =
      order === undefined ? [] : [order.pool, order.priority, order.attempt, order.version, order.crawl, order.id]
    const body = Buffer.from(JSON.stringify([agent, origin, fence, delayMs, grantedAt, holder, above, ...of]))
    return Buffer.concat([macOf(await this.#key(), body), body]).toString('base64url')
  }

  /** @returns undefined when this fleet did not issue the permit */
  async read(text: string): Promise<Permit | undefined> {
    if (text.length > MAX_CHARS || !/^[\w-]+$/.test(text)) return undefined
    const bytes = Buffer.from(text, 'base64url')
    const [mac, body] = [bytes.subarray(0, MAC_BYTES), bytes.subarray(MAC_BYTES)]
    if (mac.length < MAC_BYTES || !timingSafeEqual(mac, macOf(await this.#key(), body))) return undefined
    const [agent, origin, fence, delayMs, grantedAt, holder, above, ...of] = JSON.parse(body.toString()) as Written
    const paceLeases = above.map(([by, at, own, owed, ofSite]) => ({
      agent: by,
      origin: at,
      fence: own,
      delayMs: owed,
      ofSite: ofSite === 1,
    }))
    const permit = { agent, origin, fence, delayMs, grantedAt, paceLeases, holder }
    if (of.length === 0) return permit
    // Permits of a release before crawls existed name no crawl.
    const [pool, priority, attempt, version, crawl = DEFAULT_CRAWL, id] = of
    return { ...permit, order: { pool, priority, attempt, version, crawl, ...defined({ id }) } }
  }
}

type Written = [
  string,
  string,
  number,
  number,
  number,
  string,
  [agent: string, origin: string, fence: number, delayMs: number, ofSite: number][],
  ...([pool: string, priority: 'high' | 'normal', attempt: number, version: number, crawl?: string, id?: string] | []),
]

/** HMAC-SHA-256 (RFC 2104) from two hashes: createHmac makes an object of its key each time, a sixth of a permit's cost (measured). */
function macOf(key: Buffer, body: Buffer): Buffer {
  const { inner, outer } = padsOf(key)
  const first = hash('sha256', Buffer.concat([inner, body]), 'buffer')
  return hash('sha256', Buffer.concat([outer, first]), 'buffer').subarray(0, MAC_BYTES)
}

const BLOCK_BYTES = 64
type Pads = { inner: Buffer; outer: Buffer }
const pads = new WeakMap<Buffer, Pads>()
/** @param key  shorter than a block */
function padsOf(key: Buffer): Pads {
  const known = pads.get(key)
  if (known !== undefined) return known
  const padded = (byte: number): Buffer => Buffer.from(Buffer.alloc(BLOCK_BYTES).map((_, n) => (key[n] ?? 0) ^ byte))
  const made = { inner: padded(0x36), outer: padded(0x5c) }
  pads.set(key, made)
  return made
}

const KEY = 'decorum:permits-key'
/** The key is read again after this time, and written again if Redis has lost it. */
const AGAIN_MS = 5_000
const KEY_WITHIN_MS = 2_000

/** The fleet's key, made by the first process that needs one. Throws LedgerUnavailableError until Redis has answered once. */
export function sharedKey(redis: RedisLink, clock: Clock): () => Promise<Buffer> {
  let known: Buffer | undefined
  let readAt = 0
  let reading: Promise<Buffer> | undefined
  const readKey = async (): Promise<Buffer> => {
    const own = known ?? randomBytes(32)
    const set = await redis.set(KEY, own.toString('hex'), 'NX')
    const key = set === 'OK' ? own : Buffer.from((await redis.get(KEY)) ?? own.toString('hex'), 'hex')
    known = key
    readAt = clock.monotonic()
    return key
  }
  const again = (): Promise<Buffer> => {
    reading ??= withDeadline(readKey(), { clock, ms: KEY_WITHIN_MS }, 'permits-key').finally(() => {
      reading = undefined
    })
    return reading
  }
  return () => {
    if (known === undefined) return again()
    // While Redis is unreachable no permit is granted or ended, so the key in memory suffices.
    if (clock.monotonic() - readAt >= AGAIN_MS) again().catch(() => undefined)
    return Promise.resolve(known)
  }
}
