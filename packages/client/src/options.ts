/** What callers pass, checked before anything is opened or sent: callers without TypeScript can pass anything. */
import { inspect } from 'node:util'
import type { RedisLink } from '@decorum/ledger'
import { MAX_PARTITIONS } from '@decorum/protocol'
import type { OutcomesOptions } from './outcomes.ts'

export type FrontierOptions = {
  /** REDIS_URL, or an ioredis instance (Redis, Cluster) whose settings are taken over (own connections are made) */
  redis: string | RedisLink
  /** must be what the fleet on this Redis has registered, if it has; default: whatever that is */
  partitions?: number
  /** how long enqueue() tries again while Redis is away, ms; default 0: it fails at once */
  patienceMs?: number
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkFrontierOptions(options: FrontierOptions): void {
  const where = 'openFrontier'
  need(isObject(options), where, 'its argument', options, 'an object such as { redis: process.env.REDIS_URL }')
  const { redis, partitions, patienceMs } = options
  // A text is checked where addresses are read, and never repeated: it may hold a password.
  const isRedis = (typeof redis === 'string' && redis !== '') || isLink(redis)
  need(isRedis, where, 'redis', redis, 'an address such as redis://127.0.0.1:6379, or an ioredis instance')
  const isCount = Number.isInteger(partitions) && Number(partitions) >= 1 && Number(partitions) <= MAX_PARTITIONS
  const count = `a whole number from 1 to ${MAX_PARTITIONS}, or left out`
  need(partitions === undefined || isCount, where, 'partitions', partitions, count)
  const isLength = typeof patienceMs === 'number' && patienceMs >= 0
  need(patienceMs === undefined || isLength, where, 'patienceMs', patienceMs, 'milliseconds from 0, or left out')
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkOutcomesOptions(options: OutcomesOptions): void {
  const where = 'outcomes'
  need(isObject(options), where, 'its argument', options, "an object such as { group: 'crawl' }")
  const { group, consumer, from, wait } = options
  checkGroup(where, group)
  need(consumer === undefined || isName(consumer), where, 'consumer', consumer, 'a name, or left out')
  need(from === undefined || from === 'start' || from === 'now', where, 'from', from, "'start', 'now', or left out")
  need(wait === undefined || typeof wait === 'boolean', where, 'wait', wait, 'true, false, or left out')
}

/** @throws TypeError */
export function checkGroup(where: string, group: unknown): void {
  need(isName(group), where, 'group', group, 'the name of a consumer group')
}

/** Each candidate is the gateway's to judge; that there are some is ours. A text would be taken letter by letter. */
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

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
/** Lone surrogates would all be one name in Redis. */
const isName = (value: unknown): boolean => typeof value === 'string' && value !== '' && value.isWellFormed()
/** Of whichever copy of ioredis. */
const isLink = (value: unknown): boolean =>
  isObject(value) && 'duplicate' in value && typeof value.duplicate === 'function' && 'options' in value
