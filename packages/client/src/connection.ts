/** Connections whose commands fail at once while Redis is unavailable. They reconnect automatically. */

import {
  addressOf,
  another,
  connectLink,
  type LinkOptions,
  linkTo,
  placesOf,
  type RedisLink,
  whyRefused,
} from '@decorum/ledger'
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'
import { FrontierUnavailableError } from './errors.ts'

const CONNECT_MS = 5_000
const RECONNECT_MS = 500

/**
 * Commands are neither queued in memory nor sent again: only the caller can decide whether repeating one is safe.
 */
const FAIL_FAST: LinkOptions = { away: 'fail', lazyConnect: true, connectTimeout: CONNECT_MS, retryMs: RECONNECT_MS }

/**
 * Opens a connection used by the frontier alone, and resolves when it is ready.
 * @param redis  REDIS_URL, or an instance whose settings (TLS, password, database) are taken over; the instance is left alone
 * @throws FrontierUnavailableError when no server answers · RedisAddressError when the address is invalid
 */
export async function connectTo(redis: string | RedisLink, clock: Clock): Promise<RedisLink> {
  const own = typeof redis === 'string' ? linkTo(redis, FAIL_FAST) : another(redis, FAIL_FAST)
  const errors: Error[] = []
  own.on('error', (error) => {
    if (errors.length < 8) errors.push(error) // each command reports its own error; without a listener Node would end
  })
  try {
    await within(clock, connectLink(own, { clock, ms: CONNECT_MS }), CONNECT_MS * 2)
    return own
  } catch (error) {
    own.disconnect()
    const why = await whyRefused([error as Error, ...errors], addressOf(own))
    throw new FrontierUnavailableError(`no Redis answers at ${placesOf(own)}`, why)
  }
}
