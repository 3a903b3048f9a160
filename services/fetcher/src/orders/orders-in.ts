/**
 * Orders out of the queue into slots. A job ends as soon as each of its orders has a slot: from then on the lease decides, and
 * BullMQ repeats nothing. While all slots are taken the job waits, the queue behind it fills, and the gateways stop reserving
 * lanes: that is the back-pressure.
 */
import { MAX_ORDERS_PER_JOB, ORDERS, type Order, ordersIn, queueOptions, type UnreadableOrder } from '@decorum/protocol'
import { type ConnectionOptions, UnrecoverableError, Worker } from '@decorum/protocol/bullmq'
import { closeWithin, crashPoint } from '@decorum/runtime'
import type { Stats } from '../stats.ts'
import type { Slots } from './slots.ts'

export type OrdersInOptions = {
  /** hash tags of the partitions, braces included */
  tags: readonly string[]
  connection: ConnectionOptions
  slots: Slots
  stats: Stats
  /** undefined, or when more pages can be kept: no job is begun before */
  room?: () => Promise<void> | undefined
  /** never rejects */
  /** @param receivedAt  when its job came, by `performance.now()` */
  carryOut: (order: Order, receivedAt: number) => Promise<void>
  /** ends the candidate of an order that cannot be carried out, so that its lane goes on; never rejects */
  endUnreadable: (order: UnreadableOrder, why: string) => Promise<void>
  log: { warn(fields: object, message: string): void }
}

/**
 * Jobs of one partition that are worked on at once, so that the next ones arrive while one is placed: more when there are many
 * slots to fill, but never more orders than two fifths of the slots.
 */
const jobsAtOnce = (slots: number): number => Math.min(8, Math.max(2, Math.floor((slots * 2) / 5 / MAX_ORDERS_PER_JOB)))

export function openOrdersIn(options: OrdersInOptions) {
  const { tags, connection, slots, stats, carryOut, endUnreadable, log, room } = options
  const stopping = Promise.withResolvers<void>()
  const workers = tags.map((tag) => {
    const worker = new Worker(
      ORDERS,
      async (job) => {
        const orders = ordersIn(job.data)
        if (orders === undefined) {
          stats.badJobs++
          throw new UnrecoverableError('a job of orders carries { orders: [ … ] }')
        }
        const receivedAt = performance.now()
        crashPoint('orders.received')
        const wait = room?.()
        if (wait !== undefined) await Promise.race([wait, stopping.promise])
        worker.concurrency = jobsAtOnce(slots.size) // the number of slots may have changed
        const placed = orders.map((read) => {
          if (read.ok) return slots.place(() => carryOut(read.order, receivedAt))
          stats.badOrders++
          const { why, lane } = read
          log.warn({ job: job.id, origin: lane?.origin, reason: why.slice(0, 512) }, 'an order could not be read')
          return lane === undefined ? undefined : endUnreadable(lane, why)
        })
        await Promise.all(placed.filter((placing) => placing !== undefined))
        crashPoint('orders.placed')
      },
      {
        ...queueOptions(tag),
        connection,
        concurrency: jobsAtOnce(slots.size),
        runRetryDelay: 1_000, // Redis was away
        lockDuration: 60_000, // beyond any wait for a slot: a slot is free again after one deadline
        maxStalledCount: 0, // a job whose process died is not run again; its leases end by themselves
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
    )
    worker.on('failed', (job, error) =>
      log.warn({ job: job?.id, reason: error.message.slice(0, 512) }, 'a job of the orders queue was set aside'),
    )
    let logged = '' // during an outage the same error comes every second
    worker.on('error', ({ message }) => {
      if (message !== logged) log.warn({ reason: message.slice(0, 512) }, 'the orders queue')
      logged = message
    })
    return worker
  })
  return {
    /** No more jobs; resolves when every order that was placed has ended. */
    async stop(): Promise<void> {
      stopping.resolve()
      await closeWithin(workers.map((worker) => worker.close()))
      await slots.empty()
    },
  }
}
