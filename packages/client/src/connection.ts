/** Connections whose commands fail at once while Redis is unavailable, and which reconnect by themselves. */
import {
  another,
  connectLink,
  type LinkOptions,
  linkTo,
  placesOf,
  type RedisLink,
  within as withinOf,
} from '@decorum/ledger'
import { FrontierUnavailableError } from './errors.ts'

const CONNECT_MS = 5_000
const RECONNECT_MS = 500

/**
 * Commands are neither queued in memory nor sent again: only the caller knows whether repeating one is safe.
 */
const FAIL_FAST: LinkOptions = { away: 'fail', lazyConnect: true, connectTimeout: CONNECT_MS, retryMs: RECONNECT_MS }

/**
 * A connection of our own, ready.
 * @param redis  REDIS_URL, or an instance whose settings (TLS, password, database) are taken over; the instance is left alone
 * @throws FrontierUnavailableError when nobody answers · RedisAddressError when the address is none
 */
export async function connectTo(redis: string | RedisLink): Promise<RedisLink> {
  const own = typeof redis === 'string' ? linkTo(redis, FAIL_FAST) : another(redis, FAIL_FAST)
  let last: Error | undefined
  own.on('error', (error) => {
    last = error // each command says so itself; without a listener Node would end
  })
  try {
    await within(CONNECT_MS * 2, connectLink(own, CONNECT_MS))
    return own
  } catch (error) {
    own.disconnect()
    throw new FrontierUnavailableError(`no Redis answers at ${placesOf(own)}`, last ?? error)
  }
}

/** Settles as `work` does, or fails after `ms`: a Redis that hangs without closing never answers. */
export const within = <T>(ms: number, work: Promise<T>): Promise<T> =>
  withinOf(work, ms, () => new Error(`no answer in ${ms / 1_000} s`))
