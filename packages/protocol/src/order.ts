/** ④ Leave to make one request. Internal to the fleet: written by a gateway, read by a fetcher (queue `orders`). */
import { z } from 'zod'

/** Most orders in one job, each of another lane: beyond 20 the saving is small (measured: queue-lab §3). */
export const MAX_ORDERS_PER_JOB = 20

export const Order = z.object({
  kind: z.enum(['page', 'robots']),
  /** the product token of the agent, lower case */
  agent: z.string(),
  origin: z.string(),
  /** path + query; '/robots.txt' for kind robots */
  path: z.string(),
  /** token of the lease: every word back to the ledger carries it */
  fence: z.number(),
  /** robots version that this leave rests on: begin refuses when another is in force */
  version: z.number().int(),
  /** silence owed after this request, ms */
  gapMs: z.number(),
  /** instant on Redis's clock before which begin will refuse: the fetcher waits for it in its slot */
  notBefore: z.number(),
  /** the candidate at the head of the lane; for kind robots it only waits */
  id: z.string(),
  /** 1 for the first try */
  attempt: z.number().int(),
  hops: z.number().int(),
  expiresAt: z.number().optional(),
  priority: z.enum(['high', 'normal']).optional(),
  meta: z.record(z.string(), z.unknown()).optional(),
})
export type Order = z.infer<typeof Order>

export const OrdersJob = z.object({ orders: z.array(Order).min(1).max(MAX_ORDERS_PER_JOB) })
export type OrdersJob = z.infer<typeof OrdersJob>

/** The URL that an order speaks of. */
export const orderUrl = (order: Pick<Order, 'origin' | 'path'>): string => order.origin + order.path
