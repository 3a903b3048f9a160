/** The name of a crawl, and the stream that its outcomes are written to. */
import { z } from 'zod'

/** Of a candidate that names none. */
export const DEFAULT_CRAWL = 'default'

export const CrawlName = z
  .string()
  .regex(/^[a-z0-9-]{1,64}$/, 'a crawl is named with 1 to 64 lower-case letters, digits and hyphens')

/** @param tag  of the partition, with its braces */
export const outcomesKey = (tag: string, crawl: string): string =>
  crawl === DEFAULT_CRAWL ? `${tag}:outcomes` : `${tag}:outcomes:${crawl}`
