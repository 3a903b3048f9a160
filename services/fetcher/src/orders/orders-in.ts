/**
 * Moves orders from the queue into slots. A job ends as soon as each of its orders has a slot: from then on the lease decides, and
 * BullMQ repeats nothing. While all slots are taken the job waits, the queue behind it fills, and the gateways stop reserving
 * lanes: this is the back-pressure.
 */
import {
  type Clock,
  MAX_ORDERS_PER_JOB,
  ORDERS,
  type Order,
  ordersIn,
  queueOptions,
  type UnreadableOrder,
} from '@decorum/protocol'
import { type ConnectionOptions, UnrecoverableError, Worker } from '@decorum/protocol/bullmq'
import { closeWithin, crashPoint, outages } from '@decorum/runtime'
import type { Stats } from '../stats.ts'
import { groupsOf } from './groups.ts'
import type { Outside, Slots } from './slots.ts'

export type OrdersInOptions = {
  clock: Clock
  /** hash tags of the partitions, braces included */
  tags: readonly string[]
  connection: ConnectionOptions
  slots: Slots
  stats: Stats
  /** undefined: the sink has room. Otherwise no job begins before the promise resolves */
  room?: () => Promise<void> | undefined
  /**
   * Never rejects.
   * @param receivedAt  when its job arrived, by `clock.monotonic()`
   * @param outside     frees the slot during a wait
   */
  carryOut: (order: Order, receivedAt: number, outside: Outside) => Promise<void>
  /** returns an order that gets no slot, because one of its groups has its share; never rejects */
  turnAway: (order: Order) => void
  /** ends the candidate of an order that cannot be carried out, so that its lane continues; never rejects */
  endUnreadable: (order: UnreadableOrder, why: string) => Promise<void>
  log: { warn(fields: object, message: string): void }
}

/**
 * Jobs of one partition in progress at once, so that the next ones arrive while one is placed: more when there are many slots to fill,
 * but never more orders than two fifths of the slots.
 */
const jobsAtOnce = (slots: number): number => Math.min(8, Math.max(2, Math.floor((slots * 2) / 5 / MAX_ORDERS_PER_JOB)))

/** One job, in BullMQ's form. */
export type OrdersJob = { readonly id?: string | undefined; readonly data: unknown }

/**
 * Places a job: each of its orders gets a slot or is returned. Resolves then; rejects for a job that cannot be read.
 * @param stopped  resolves when no order may wait for room any longer
 */
export function takeOrders(
  options: Pick<
    OrdersInOptions,
    'clock' | 'slots' | 'stats' | 'carryOut' | 'turnAway' | 'endUnreadable' | 'log' | 'room'
  >,
  stopped: Promise<void>,
): (job: OrdersJob) => Promise<void> {
  const { clock, slots, stats, carryOut, turnAway, endUnreadable, log, room } = options
  return async (job) => {
    const orders = ordersIn(job.data)
    if (orders === undefined) {
      stats.badJobs++
      throw new UnrecoverableError('a job of orders carries { orders: [ … ] }')
    }
    const receivedAt = clock.monotonic()
    crashPoint('orders.received')
    const wait = room?.()
    if (wait !== undefined) await Promise.race([wait, stopped])
    const placed = orders.map((read) => {
      if (read.ok) {
        const { order } = read
        return slots.place({
          groups: groupsOf(order),
          run: (outside) => carryOut(order, receivedAt, outside),
          turnAway: () => turnAway(order),
        })
      }
      stats.badOrders++
      const { why, lane } = read
      log.warn({ job: job.id, origin: lane?.origin, reason: why.slice(0, 512) }, 'an order could not be read')
      return lane === undefined ? undefined : endUnreadable(lane, why)
    })
    await Promise.all(placed.filter((placing) => placing !== undefined))
    crashPoint('orders.placed')
  }
}

export function openOrdersIn(options: OrdersInOptions) {
  const { clock, tags, connection, slots, log } = options
  const stopping = Promise.withResolvers<void>()
  const take = takeOrders(options, stopping.promise)
  const workers = tags.map((tag) => {
    const worker = new Worker(
      ORDERS,
      (job) => {
        worker.concurrency = jobsAtOnce(slots.size) // the number of slots may have changed
        return take(job)
      },
      {
        ...queueOptions(tag),
        connection,
        concurrency: jobsAtOnce(slots.size),
        runRetryDelay: 1_000, // while Redis is unavailable
        lockDuration: 60_000, // longer than any wait for a slot: a slot is free again after one deadline
        maxStalledCount: 0, // a job whose process died is not run again; its leases expire
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
    )
    worker.on('failed', (job, error) =>
      log.warn({ job: job?.id, reason: error.message.slice(0, 512) }, 'a job of the orders queue was set aside'),
    )
    const begins = outages(clock)
    worker.on('error', ({ message }) => {
      if (begins()) log.warn({ reason: message.slice(0, 512) }, 'the orders queue')
    })
    return worker
  })
  return {
    /** Stops taking jobs; resolves when every order that was placed has ended. */
    async stop(): Promise<void> {
      stopping.resolve()
      await closeWithin(
        clock,
        workers.map((worker) => worker.close()),
      )
      await slots.empty()
    },
  }
}
