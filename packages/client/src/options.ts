/** Checks options before anything is opened or sent: callers without TypeScript can pass anything. */
import { inspect } from 'node:util'
import { CrawlName, MAX_PARTITIONS } from '@decorum/protocol'
import { readDeliveryId } from './delivery-id.ts'

/** What an option has to be. `isSecret`: it may hold a password, so only its type is shown. */
type Rule = { isRight: (value: unknown) => boolean; needed: string; isSecret?: boolean }

const optional = (isRight: Rule['isRight'], needed: string, isSecret = false): Rule => ({
  isRight: (value) => value === undefined || isRight(value),
  needed: `${needed}, or left out`,
  isSecret,
})
const wholeNumber = (most = Number.MAX_SAFE_INTEGER): Rule['isRight'] => {
  return (value) => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most
}
const isText = (value: unknown): value is string => typeof value === 'string'
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const isAddress = (value: unknown): boolean => isText(value) && /^https?:/.test(value) && URL.canParse(value)
/** All lone surrogates would become the same name in Redis. */
const isName = (value: unknown): boolean => isText(value) && value !== '' && value.isWellFormed()
/** Accepts an instance of any copy of ioredis. */
const isLink = (value: unknown): boolean =>
  isObject(value) && 'duplicate' in value && typeof value.duplicate === 'function' && 'options' in value
const isDeliveryId = (value: unknown): boolean => isText(value) && readDeliveryId(value) !== undefined

const CRAWL = optional(
  (value) => CrawlName.safeParse(value).success,
  'lower-case letters, digits and hyphens, at most 64',
)
const CONSUMER = optional(isName, 'a name')
const GROUP: Rule = { isRight: isName, needed: 'the name of a consumer group' }
const OF_GROUP = {
  group: GROUP,
  crawl: CRAWL,
  from: optional((value) => value === 'start' || value === 'now', "'start', 'now'"),
}

/** The options of each call; a dot leads into an option that is an object. */
const RULES: Record<
  'openFrontier' | 'outcomes' | 'createGroup' | 'removeGroup' | 'acknowledge',
  Record<string, Rule>
> = {
  openFrontier: {
    crawl: CRAWL,
    // A string is checked where addresses are read, and never quoted in an error: it may hold a password.
    redis: optional(
      (value) => (isText(value) && value !== '') || isLink(value),
      'an address such as redis://127.0.0.1:6379, an ioredis instance',
    ),
    partitions: optional(wholeNumber(MAX_PARTITIONS), `a whole number from 1 to ${MAX_PARTITIONS}`),
    patienceMs: optional((value) => typeof value === 'number' && value >= 0, 'milliseconds from 0'),
    content: optional(isObject, 'an object such as { via, token, maxBytes }'),
    'content.via': optional(isAddress, "the console's address, such as http://127.0.0.1:7070", true),
    'content.token': optional(isText, 'a text', true),
    'content.fetchers': optional(
      (value) => Array.isArray(value) && value.every(isAddress),
      'an array of addresses such as http://crawler-1:9000',
      true,
    ),
    'content.maxBytes': optional(wholeNumber(), 'a whole number from 1'),
  },
  outcomes: {
    ...OF_GROUP,
    consumer: CONSUMER,
    wait: optional((value) => typeof value === 'boolean', 'true, false'),
    max: optional(wholeNumber(), 'a whole number from 1'),
    signal: optional((value) => value instanceof AbortSignal, 'an AbortSignal'),
  },
  createGroup: OF_GROUP,
  removeGroup: { group: GROUP, crawl: CRAWL },
  acknowledge: {
    group: GROUP,
    crawl: CRAWL,
    consumer: CONSUMER,
    ids: { isRight: Array.isArray, needed: 'an array of the ids of deliveries' },
  },
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkOptions(where: keyof typeof RULES, options: unknown): void {
  const example = where === 'openFrontier' ? '{ redis: process.env.REDIS_URL }' : "{ group: 'crawl' }"
  need({ isRight: isObject, needed: `an object such as ${example}` }, where, 'its argument', options)
  for (const [name, rule] of Object.entries(RULES[where])) {
    const value = name.split('.').reduce((at, part) => (at as Record<string, unknown> | undefined)?.[part], options)
    need(rule, where, name, value)
  }
}

/** @throws TypeError for anything that is no id of a delivery */
export function checkIds(ids: readonly unknown[]): void {
  for (const id of ids) need({ isRight: isDeliveryId, needed: 'the id of a delivery' }, 'acknowledge', 'an id', id)
}

/** Checks only that the candidates are a list; the gateway judges each one. A string would be iterated letter by letter. */
export function checkCandidates(candidates: unknown): void {
  const isRight = (value: unknown): boolean =>
    isObject(value) && !ArrayBuffer.isView(value) && (Symbol.iterator in value || Symbol.asyncIterator in value)
  const needed = 'an array or an (async) iterable of candidates such as { url }'
  need({ isRight, needed }, 'enqueue', 'its argument', candidates)
}

function need({ isRight, needed, isSecret = false }: Rule, where: string, what: string, given: unknown): void {
  if (isRight(given)) return
  const options = { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 100 }
  const shown = inspect(isSecret ? typeof given : given, options)
  throw new TypeError(`${where}: ${what} is ${shown}; what is needed is ${needed}`)
}
