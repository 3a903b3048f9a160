/** ④ Permission to make one request. Internal to the fleet: written by a gateway, read by a fetcher (queue `orders`). */

import { z } from 'zod'
import { CrawlName } from './crawl.ts'
import { DEFAULT_CRAWL } from './crawl-name.ts'
import { isRecord, jsonObject } from './json.ts'
import { OrderedShape } from './request-fields.ts'

/** Most orders in one job, each for another lane: beyond 20 the saving is small (measured: docs/decisions/0008-what-a-url-costs.md). */
export const MAX_ORDERS_PER_JOB = 20

const Order = z.object({
  kind: z.enum(['page', 'robots']).default('page'),
  /** the product token of the agent, lower case */
  agent: z.string(),
  origin: z.string(),
  /** path + query; '/robots.txt' for kind robots */
  path: z.string(),
  /** token of the lease: every call to the ledger about it carries it */
  fence: z.number(),
  /** version of the robots rules that judged the order: `start` refuses when another is in force */
  version: z.number().int(),
  /** delay after this request, ms */
  delayMs: z.number(),
  /** instant of the ledger before which `start` refuses: the fetcher waits for it in its slot. 0: the lane was already due */
  notBefore: z.number().default(0),
  /** id of the first candidate of the lane; for kind robots that candidate only waits */
  id: z.string(),
  /** the crawl of the candidate */
  crawl: CrawlName.default(DEFAULT_CRAWL),
  /** name of the permit token whose caller needs this robots fetch; absent: a crawl needs it */
  by: z.string().optional(),
  /** whether a robots fetch is for an origin without a known permit or URL */
  isUnclaimed: z.boolean().optional(),
  /** the registrable domain or host whose redirect led here */
  from: z.string().optional(),
  /** 1 for the first try */
  attempt: z.number().int().default(1),
  hops: z.number().int().default(0),
  /** most requests for its candidate, if its crawl allows fewer than MAX_ATTEMPTS */
  maxAttempts: z.number().int().min(1).optional(),
  expiresAt: z.number().optional(),
  priority: z.enum(['high', 'normal']).default('normal'),
  meta: jsonObject.optional(),
  /** for a page: the frontier's shape of the request */
  request: OrderedShape.optional(),
})
export type Order = z.infer<typeof Order>
/** An order as its job carries it: omitted members have their defaults. */
export type WrittenOrder = z.input<typeof Order>

const Lane = Order.pick({ agent: true, origin: true, fence: true, id: true }).extend({
  path: z.string().catch(''),
  crawl: CrawlName.catch(DEFAULT_CRAWL),
  attempt: z.number().int().min(1).catch(1),
  meta: Order.shape.meta.catch(undefined),
})
/** The readable part of an order that cannot be carried out: enough to end its candidate. */
export type UnreadableOrder = z.output<typeof Lane>
export type ReadOrder =
  | { ok: true; order: Order }
  /** `lane` is absent when lane, fence or candidate cannot be read: that reservation expires */
  | { ok: false; why: string; lane?: UnreadableOrder }

/** The orders of a job, each parsed separately; undefined when the job holds no orders. Never throws. */
export function ordersIn(job: unknown): ReadOrder[] | undefined {
  if (!isRecord(job) || !Array.isArray(job.orders) || job.orders.length === 0) return undefined
  return job.orders.map(readOrder)
}

function readOrder(data: unknown): ReadOrder {
  const read = Order.safeParse(data)
  if (read.success) return { ok: true, order: read.data }
  const [issue] = read.error.issues
  const why = `${issue?.path.join('.') || 'order'}: ${issue?.message ?? ''}`
  const lane = Lane.safeParse(data)
  return lane.success ? { ok: false, why, lane: lane.data } : { ok: false, why }
}

/**
 * An order as its job carries it: without members that hold their default. Every byte of a job passes through Redis's scripts three times;
 * most orders become a third shorter.
 * @param now  the ledger's time, ms: a due time in the past is omitted
 */
export function writtenOrder(order: Order, now: number): WrittenOrder {
  const { agent, origin, path, fence, version, delayMs, id, by, from, expiresAt, meta, request } = order
  const written: WrittenOrder = { agent, origin, path, fence, version, delayMs, id }
  if (order.kind !== 'page') written.kind = order.kind
  if (order.crawl !== DEFAULT_CRAWL) written.crawl = order.crawl
  if (by !== undefined) written.by = by
  if (order.isUnclaimed === true) written.isUnclaimed = true
  if (from !== undefined) written.from = from
  if (order.notBefore > now) written.notBefore = order.notBefore
  if (order.attempt !== 1) written.attempt = order.attempt
  if (order.hops !== 0) written.hops = order.hops
  if (order.priority !== 'normal') written.priority = order.priority
  if (order.maxAttempts !== undefined) written.maxAttempts = order.maxAttempts
  if (expiresAt !== undefined) written.expiresAt = expiresAt
  if (meta !== undefined) written.meta = meta
  if (request !== undefined) written.request = request
  return written
}

/** The URL of an order. */
export const orderUrl = (order: Pick<Order, 'origin' | 'path'>): string => order.origin + order.path
