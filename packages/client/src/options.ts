/** Checks options before anything is opened or sent: callers without TypeScript can pass anything. */
import { inspect } from 'node:util'
import { CrawlName, MAX_PARTITIONS } from '@decorum/protocol'
import { z } from 'zod'
import { readDeliveryId } from './delivery-id.ts'

// The message of each schema completes the sentence 'what is needed is …'.

const wholeNumber = (needed: string, most = Number.MAX_SAFE_INTEGER) =>
  z.int(needed).min(1, needed).max(most, needed).optional()
/** A well-formed text that is not empty: all lone surrogates would become the same name in Redis. */
const name = (needed: string) => z.string(needed).refine((text) => text !== '' && text.isWellFormed(), needed)
const address = (needed: string) => z.url({ protocol: /^https?$/, error: needed })
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const crawl = z
  .custom((value) => CrawlName.safeParse(value).success, 'lower-case letters, digits and hyphens, at most 64')
  .optional()
const consumer = name('a name').optional()
const ofGroup = { crawl, group: name('the name of a consumer group') }
const newGroup = { ...ofGroup, from: z.enum(['start', 'now'], "'start', 'now'").optional() }
const GROUP_EXAMPLE = "an object such as { group: 'crawl' }"

const contentOptions = z.object(
  {
    via: address("the console's address, such as http://127.0.0.1:7070").optional(),
    token: z.string('a text').optional(),
    fetchers: z
      .array(address('the address of a fetcher such as http://crawler-1:9000'), 'an array of addresses')
      .optional(),
    maxBytes: wholeNumber('a whole number from 1'),
  },
  'an object such as { via, token, maxBytes }',
)
/** Options that may contain a password: an error shows only their type. */
const SECRET = /^content\.(via|token|fetchers)/

/** Whether this is a text (an address is checked where it is read), or an instance of any copy of ioredis. */
const isRedis = (value: unknown): boolean =>
  isObject(value)
    ? 'options' in value && 'duplicate' in value && typeof value.duplicate === 'function'
    : typeof value === 'string' && value !== ''
/** Whether this can be iterated and is no string, which would be iterated letter by letter. The gateway judges each candidate. */
const isList = (value: unknown): boolean =>
  isObject(value) && !ArrayBuffer.isView(value) && (Symbol.iterator in value || Symbol.asyncIterator in value)

/** The schema of each call's argument. */
const CALLS = {
  openFrontier: z.object(
    {
      crawl,
      redis: z.custom(isRedis, 'an address such as redis://127.0.0.1:6379, an ioredis instance').optional(),
      partitions: wholeNumber(`a whole number from 1 to ${MAX_PARTITIONS}`, MAX_PARTITIONS),
      patienceMs: z.custom((value) => typeof value === 'number' && value >= 0, 'milliseconds from 0').optional(),
      content: contentOptions.optional(),
    },
    'an object such as { redis: process.env.REDIS_URL }',
  ),
  enqueue: z.custom(isList, 'an array or an (async) iterable of candidates such as { url }'),
  outcomes: z.object(
    {
      ...newGroup,
      consumer,
      wait: z.boolean('true, false').optional(),
      max: wholeNumber('a whole number from 1'),
      signal: z.instanceof(AbortSignal, { error: 'an AbortSignal' }).optional(),
    },
    GROUP_EXAMPLE,
  ),
  createGroup: z.object(newGroup, GROUP_EXAMPLE),
  removeGroup: z.object(ofGroup, GROUP_EXAMPLE),
  acknowledge: z.object(
    {
      ...ofGroup,
      consumer,
      ids: z.array(
        z.string('the id of a delivery').refine((id) => readDeliveryId(id) !== undefined, 'the id of a delivery'),
        'an array of the ids of deliveries',
      ),
    },
    GROUP_EXAMPLE,
  ),
}

/** @throws TypeError that names the option, what was given, and what is right */
export function checkOptions(call: keyof typeof CALLS, given: unknown): void {
  const [issue] = CALLS[call].safeParse(given).error?.issues ?? []
  if (issue === undefined) return
  const path = issue.path.join('.')
  const value = issue.path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown>)[part], given)
  const options = { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 100 }
  const shown = inspect(SECRET.test(path) ? typeof value : value, options)
  throw new TypeError(`${call}: ${path || 'its argument'} is ${shown}; what is needed is ${issue.message}`)
}
