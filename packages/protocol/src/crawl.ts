/** The name of a crawl, and the stream that its outcomes are written to. */

import { z } from 'zod'
import { CRAWL_NAME, CRAWL_NAME_FORM, DEFAULT_CRAWL } from './crawl-name.ts'

export const CrawlName = z.string(CRAWL_NAME).regex(CRAWL_NAME_FORM, CRAWL_NAME)

/** The name by which workers ask for orders: the pool of an agent or a crawl. */
export const POOL_NAME = 'a pool is named with 1 to 64 lower-case letters, digits and hyphens'
export const PoolName = z.string(POOL_NAME).regex(/^[a-z0-9-]{1,64}$/, POOL_NAME)

/** The crawl member of a candidate's, an order's or an outcome's record: omitted for the default crawl. */
export const crawlField = (crawl: string | undefined): { crawl?: string } =>
  crawl === undefined || crawl === DEFAULT_CRAWL ? {} : { crawl }

/** @param tag  tag of the partition, with its braces */
export const outcomesKey = (tag: string, crawl: string): string =>
  crawl === DEFAULT_CRAWL ? `${tag}:outcomes` : `${tag}:outcomes:${crawl}`
