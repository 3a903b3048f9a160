/** Opens the orders for robots fetches that callers wait for: the connection, the limit, and the queues. */
import { connectLink, HEADROOM, type Ledger, linkTo, type RedisLink } from '@decorum/ledger'
import { ORDERS, queueOptions } from '@decorum/protocol'
import { Queue, servingWhenFull } from '@decorum/protocol/bullmq'
import { logOutages } from '@decorum/runtime'
import type { Logger } from 'pino'
import type { Housekeeping } from './housekeeping.ts'
import { type RobotsOrders, robotsOrders } from './robots-orders.ts'
import { type RobotsRoom, robotsRoom } from './robots-room.ts'

const CONNECT_MS = 2_000

type OrdersOptions = {
  ledger: Ledger
  redisUrl: string
  /** how long the order of a claimed lane lasts, ms */
  reserveMs: number
  /** a function, because housekeeping is started later */
  housekeeping: () => Pick<Housekeeping, 'slots' | 'memoryShare'>
  log: Logger
}

/** @returns `redis` fails at once while Redis is unavailable, instead of queueing requests whose callers have gone */
export async function openRobotsOrders({
  ledger,
  redisUrl,
  reserveMs,
  housekeeping,
  log,
}: OrdersOptions): Promise<{ redis: RedisLink; room: RobotsRoom; robots: RobotsOrders }> {
  const redis = logOutages(servingWhenFull(linkTo(redisUrl, { away: 'fail', lazyConnect: true })), log)
  await connectLink(redis, { clock: ledger.clock, ms: CONNECT_MS }).catch(() => undefined)
  const room = robotsRoom({
    ledger,
    reserveMs,
    slots: () => housekeeping().slots(),
    isLow: () => housekeeping().memoryShare() >= HEADROOM.intake,
  })
  const queues = ledger.tags.map((tag) => {
    const options = { connection: redis, ...queueOptions(tag), skipMetasUpdate: true, skipWaitingForReady: true }
    return new Queue(ORDERS, options).on('error', () => undefined) // the connection has logged the error
  })
  return { redis, room, robots: robotsOrders(ledger, queues, room) }
}
