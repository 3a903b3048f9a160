/** The connection that BullMQ works on: it waits for Redis to come back instead of failing its blocking reads. */

import { Redis } from 'ioredis'
import type { Logger } from 'pino'

export function queueConnection(url: string, log: Logger): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null })
  let away = false
  redis.on('error', (error: Error) => {
    if (!away) log.warn({ err: error.message }, 'Redis is away: nothing new is sent until it answers')
    away = true
  })
  redis.on('ready', () => {
    if (away) log.info('Redis is back')
    away = false
  })
  return redis
}
