/** Connects to Redis, and says why that fails in words for the person who wrote REDIS_URL. */
import { within } from '@decorum/protocol/within'
import { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
import { connectLink, placesOf, type RedisLink } from './link.ts'

/**
 * A refusal is an error at once. A server that does not answer yet, or this machine, may be busy: it has until its connection has failed by the
 * defaults of ioredis (10 s), and longer where one was made and the first answer is missing.
 */
const CONNECT_MS = 15_000

/**
 * Connects, and does what needs the connection.
 * @param isOwn  the connection ends when this fails
 * @throws LedgerUnfitError when this Redis cannot be used · LedgerUnavailableError when there is none
 */
export async function reachRedis<T>(
  redis: RedisLink,
  { callDeadlineMs, isOwn }: { callDeadlineMs: number; isOwn: boolean },
  work: () => Promise<T>,
): Promise<T> {
  let refusal: Error | undefined // why a connection ended (password, host, port), which the error of `connect` does not say
  redis.on('error', (error: Error) => {
    refusal = error // calls have their own errors; without a listener the process would end
  })
  let noCluster = false
  redis.on('node error', ({ message }: Error) => {
    noCluster ||= message.includes('cluster support disabled')
  })
  try {
    const connecting = connectLink(redis, callDeadlineMs).catch((error: Error) => {
      throw refusal ?? error
    })
    const ms = Math.max(callDeadlineMs, CONNECT_MS)
    const late = (): Error => new Error(`no answer from ${placesOf(redis)} within ${ms} ms`)
    await within(connecting, ms, late).catch((error: unknown) => {
      throw new LedgerUnavailableError('connect', error)
    })
    return await work()
  } catch (error) {
    if (isOwn) redis.disconnect()
    if (noCluster)
      throw new LedgerUnfitError('REDIS_URL names several servers, but they are not nodes of a cluster: name only one')
    if (error instanceof LedgerUnfitError || error instanceof LedgerUnavailableError) throw error
    throw new LedgerUnavailableError('open', error)
  }
}
