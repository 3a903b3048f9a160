/** Connections that say no at once when Redis is away, and come back by themselves when it is. */
import { Redis, type RedisOptions } from 'ioredis'
import { FrontierUnavailableError } from './errors.ts'

const CONNECT_MS = 5_000
const RECONNECT_MS = 500

/**
 * No queue in memory, no silent resend: a command that Redis has not answered is the caller's to repeat, for only he
 * knows whether twice is once.
 */
const FAIL_FAST = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_MS,
  retryStrategy: () => RECONNECT_MS,
} satisfies RedisOptions

/**
 * A connection of our own, ready.
 * @param redis  URL, or an instance whose settings (TLS, password, database) are taken over; the instance is left alone
 * @throws FrontierUnavailableError when nobody answers
 */
export async function connectTo(redis: string | Redis): Promise<Redis> {
  const own = typeof redis === 'string' ? new Redis(redis, FAIL_FAST) : redis.duplicate(FAIL_FAST)
  let last: Error | undefined
  own.on('error', (error) => {
    last = error // each command says so itself; without a listener Node would end
  })
  try {
    await own.connect()
    return own
  } catch (error) {
    own.disconnect()
    const { host, port } = own.options
    throw new FrontierUnavailableError(`no Redis answers at ${host}:${port}`, last ?? error)
  }
}

/** Settles as `work` does, or fails after `ms`: a Redis that hangs without closing answers nothing for ever. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer in ${ms / 1_000} s`)), ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => undefined) // the loser's complaint is nobody's any more
  }
}
