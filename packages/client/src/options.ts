/** Checks options before anything is opened or sent: callers without TypeScript can pass anything. */
import { inspect } from 'node:util'
import type { ContentOptions } from '@decorum/content'
import { CrawlName, MAX_PARTITIONS } from '@decorum/protocol'
import { readDeliveryId } from './delivery-id.ts'
import type { AcknowledgeOptions, FrontierOptions, GroupOptions, OutcomesOptions } from './types.ts'

/** @throws TypeError that names the option, what was given, and what is right */
export function checkFrontierOptions(options: FrontierOptions): void {
  const where = 'openFrontier'
  need(isObject(options), where, 'its argument', options, 'an object such as { redis: process.env.REDIS_URL }')
  const { redis, crawl, partitions, patienceMs, content } = options
  checkCrawl(where, crawl)
  // A string is checked where addresses are read, and never quoted in an error: it may hold a password.
  const isRedis = redis === undefined || (typeof redis === 'string' && redis !== '') || isLink(redis)
  need(isRedis, where, 'redis', redis, 'an address such as redis://127.0.0.1:6379, an ioredis instance, or left out')
  const isCount = Number.isInteger(partitions) && Number(partitions) >= 1 && Number(partitions) <= MAX_PARTITIONS
  const count = `a whole number from 1 to ${MAX_PARTITIONS}, or left out`
  need(partitions === undefined || isCount, where, 'partitions', partitions, count)
  const isLength = typeof patienceMs === 'number' && patienceMs >= 0
  need(patienceMs === undefined || isLength, where, 'patienceMs', patienceMs, 'milliseconds from 0, or left out')
  if (content !== undefined) checkContent(content)
}

function checkContent(content: ContentOptions): void {
  const where = 'openFrontier'
  need(isObject(content), where, 'content', content, 'an object such as { via, token, maxBytes }, or left out')
  const { via, token, fetchers, maxBytes } = content
  // No address is quoted: it may hold a password.
  const isVia = via === undefined || isAddress(via)
  need(isVia, where, 'content.via', typeof via, "the console's address, such as http://127.0.0.1:7070, or left out")
  need(token === undefined || typeof token === 'string', where, 'content.token', typeof token, 'a text, or left out')
  const areAddresses = fetchers === undefined || (Array.isArray(fetchers) && fetchers.every(isAddress))
  const addresses = 'an array of addresses such as http://crawler-1:9000, or left out'
  need(areAddresses, where, 'content.fetchers', typeof fetchers, addresses)
  const isSize = Number.isSafeInteger(maxBytes) && Number(maxBytes) >= 1
  need(maxBytes === undefined || isSize, where, 'content.maxBytes', maxBytes, 'a whole number from 1, or left out')
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkOutcomesOptions(options: OutcomesOptions): void {
  const where = 'outcomes'
  checkGroupOptions(options, where)
  const { consumer, wait, max, signal } = options
  need(consumer === undefined || isName(consumer), where, 'consumer', consumer, 'a name, or left out')
  need(wait === undefined || typeof wait === 'boolean', where, 'wait', wait, 'true, false, or left out')
  const isCount = max === undefined || (Number.isSafeInteger(max) && max >= 1)
  need(isCount, where, 'max', max, 'a whole number from 1, or left out')
  need(signal === undefined || signal instanceof AbortSignal, where, 'signal', signal, 'an AbortSignal, or left out')
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkGroupOptions(options: GroupOptions, where = 'createGroup'): void {
  need(isObject(options), where, 'its argument', options, "an object such as { group: 'crawl' }")
  const { crawl, group, from } = options
  checkGroup(where, group)
  checkCrawl(where, crawl)
  need(from === undefined || from === 'start' || from === 'now', where, 'from', from, "'start', 'now', or left out")
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkAcknowledgeOptions(options: AcknowledgeOptions): void {
  const where = 'acknowledge'
  need(isObject(options), where, 'its argument', options, "an object such as { group: 'crawl', ids }")
  const { crawl, group, consumer, ids } = options
  checkGroup(where, group)
  checkCrawl(where, crawl)
  need(consumer === undefined || isName(consumer), where, 'consumer', consumer, 'a name, or left out')
  need(Array.isArray(ids), where, 'ids', ids, 'an array of the ids of deliveries')
  for (const id of ids as unknown[])
    need(typeof id === 'string' && readDeliveryId(id) !== undefined, where, 'an id', id, 'the id of a delivery')
}

/** @throws TypeError */
export function checkCrawl(where: string, crawl: unknown): void {
  const isCrawl = crawl === undefined || CrawlName.safeParse(crawl).success
  need(isCrawl, where, 'crawl', crawl, 'lower-case letters, digits and hyphens, at most 64, or left out')
}

/** @throws TypeError */
export function checkGroup(where: string, group: unknown): void {
  need(isName(group), where, 'group', group, 'the name of a consumer group')
}

/** Checks only that the candidates are a list; the gateway judges each one. A string would be iterated letter by letter. */
export function checkCandidates(candidates: unknown): void {
  const many =
    isObject(candidates) &&
    !ArrayBuffer.isView(candidates) &&
    (Symbol.iterator in candidates || Symbol.asyncIterator in candidates)
  need(many, 'enqueue', 'its argument', candidates, 'an array or an (async) iterable of candidates such as { url }')
}

function need(isRight: boolean, where: string, what: string, given: unknown, right: string): void {
  if (isRight) return
  const shown = inspect(given, { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 100 })
  throw new TypeError(`${where}: ${what} is ${shown}; what is needed is ${right}`)
}

const isAddress = (value: unknown): boolean =>
  typeof value === 'string' && /^https?:/.test(value) && URL.canParse(value)
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
/** All lone surrogates would become the same name in Redis. */
const isName = (value: unknown): boolean => typeof value === 'string' && value !== '' && value.isWellFormed()
/** Accepts an instance of any copy of ioredis. */
const isLink = (value: unknown): boolean =>
  isObject(value) && 'duplicate' in value && typeof value.duplicate === 'function' && 'options' in value
