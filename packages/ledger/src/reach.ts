/** Connects to Redis; when that fails, explains why to the person who wrote REDIS_URL. */
import type { Deadline } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
import { addressOf, connectLink, placesOf, type RedisLink } from './link.ts'
import { whyRefused } from './refusal.ts'

/**
 * Deadline of the connection. A refusal is reported at once; a missing answer may mean that the server or this machine is busy. ioredis
 * gives up connecting after 10 s by default; the rest is for the first answer over the connection.
 */
const CONNECT_MS = 15_000

/** Errors that a retry cannot cure: the nodes belong to no cluster, or the database does not exist. */
const UNFIT = /cluster support disabled|DB index is out of range/

/**
 * Connects, and runs the work that needs the connection.
 * @param isOwn  true: the connection is closed when this fails
 * @throws LedgerUnfitError when this Redis cannot be used · LedgerUnavailableError when it does not answer
 */
export async function reachRedis<T>(
  redis: RedisLink,
  { deadline, isOwn }: { deadline: Deadline; isOwn: boolean },
  work: () => Promise<T>,
): Promise<T> {
  try {
    await reach(redis, deadline)
    return await work()
  } catch (error) {
    if (isOwn) redis.disconnect()
    if (error instanceof LedgerUnfitError || error instanceof LedgerUnavailableError) throw error
    throw new LedgerUnavailableError('open', error)
  }
}

async function reach(redis: RedisLink, deadline: Deadline): Promise<void> {
  const errors: Error[] = [] // why a connection ended (password, host, port); the error of `connect` does not contain it
  const { promise: refused, reject: refuse } = Promise.withResolvers<never>()
  refused.catch(() => undefined)
  redis.on('error', (error: Error) => {
    errors[Math.min(errors.length, MOST)] = error // calls have their own errors; without a listener the process would end
    if (error.message.startsWith('All sentinels are unreachable')) refuse(error) // ioredis would retry for ever
  })
  redis.on('node error', (error: Error) => {
    errors[Math.min(errors.length, MOST)] = error
  })
  const ms = Math.max(deadline.ms, CONNECT_MS)
  const late = (): Error => new Error(`no answer from ${placesOf(redis)} within ${ms} ms`)
  const failure = await within(deadline.clock, Promise.race([connectLink(redis, deadline), refused]), ms, late).then(
    () => undefined,
    (error: Error) => error,
  )
  const unfit = errors.find(({ message }) => UNFIT.test(message))
  if (failure === undefined && unfit === undefined) return
  const why = await whyRefused(unfit === undefined ? [failure as Error, ...errors] : [unfit], addressOf(redis))
  if (unfit !== undefined) throw new LedgerUnfitError(why)
  throw new LedgerUnavailableError('connect', new Error(why, { cause: failure }))
}

/** Number of first errors that are kept, besides the latest one. */
const MOST = 8
