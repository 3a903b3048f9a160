/** Schemas of requests and answers: they validate requests, and describe both in /openapi.json. */
import { LEDGER_GATES } from '@decorum/ledger'
import { CrawlName, MAX_URL_CHARS, TRUNCATED } from '@decorum/protocol'
import { ProblemAnswer } from '@decorum/runtime/openapi'
import { HEADERS_MAX_BYTES, NO_ANSWER } from '@decorum/sending'
import { z } from 'zod'

const url = z.string().min(1).max(MAX_URL_CHARS)
const leaseMs = z.int().min(100).max(86_400_000).describe('length of the lease, ms; cut to what the fleet allows')
export const PermitBody = z
  .strictObject({
    url: url.optional(),
    urls: z.array(url).min(1).max(100).optional().describe('the first of these that may go'),
    agent: z.string().max(64).optional().describe('one of DECORUM_AGENTS; absent: the first that the token may use'),
    crawl: CrawlName.optional().describe(
      'the crawl of the request: its weight decides the turn in the lane, and the token must allow it',
    ),
    waitMs: z.int().min(0).max(60_000).default(0).describe('how long to wait in line, ms'),
    leaseMs: leaseMs.optional(),
    shadow: z
      .boolean()
      .default(false)
      .describe('nothing waits and no lane is taken: what would have waited is counted'),
  })
  .refine(({ url: one, urls }) => (one === undefined) !== (urls === undefined), 'either url or urls is needed')
export type PermitBody = z.output<typeof PermitBody>

export const ExtendBody = z.strictObject({ leaseMs: leaseMs.optional() })
export const CompletionBody = z.strictObject({
  status: z.int().min(100).max(999).optional(),
  retryAfter: z.string().max(256).optional().describe('Retry-After as received'),
  error: z.string().max(1_024).optional().describe('no answer came, or it broke off'),
  tookMs: z.number().min(0).max(86_400_000).optional(),
  bytes: z.int().min(0).optional(),
})
export type CompletionBody = z.output<typeof CompletionBody>
/** Limits of a site's answer: no line ends, and a head within the bound of every exchange. */
const header = z.tuple([
  z
    .string()
    .min(1)
    .max(256)
    .regex(/^[^\0-\x20\x7f:]+$/, 'is no name of a header'),
  z.string().regex(/^[^\0\r\n]*$/, 'a header value has no line ends'),
])
const headers = z
  .array(header)
  .max(512)
  .refine(
    (all) => all.reduce((bytes, [name, value]) => bytes + name.length + value.length + 4, 0) <= HEADERS_MAX_BYTES,
    `all headers together have at most ${HEADERS_MAX_BYTES} characters`,
  )
const archive = z.strictObject({
  file: z.string().min(1).max(1_024),
  offset: z.int().min(0),
  length: z.int().min(0),
  ref: z.string().max(2_048).exactOptional(),
})
/** @param mostBytes  most bytes of a body (PAGE_MAX_BYTES) */
export const orderCompletionBody = (mostBytes: number) =>
  CompletionBody.extend({
    headers: headers.optional().describe('of the answer, as received, in order'),
    reason: z
      .enum(NO_ANSWER)
      .optional()
      .describe('why no answer could be had; the last two end the URL at once, the others after MAX_ATTEMPTS'),
    body: z
      .base64()
      .max(Math.ceil(mostBytes / 3) * 4, `at most ${mostBytes} bytes: cut it, and say truncated`)
      .transform((text) => Buffer.from(text, 'base64'))
      .optional()
      .describe('of the answer, or of the page as rendered, without content coding'),
    digest: z
      .string()
      .regex(/^sha1:[A-Z2-7]{32}$/, 'sha1: and 32 characters of base32 are needed')
      .optional()
      .describe('of a body that is not sent'),
    truncated: z
      .union([z.enum(TRUNCATED), z.literal(false)])
      .default('')
      .transform((cut) => cut || '')
      .describe("why the body is not whole; '' or false: it is"),
    archive: archive.optional().describe('where the worker keeps the page (docs/content.md)'),
    address: z.string().max(64).default('').describe('IP address of the site'),
    load: z
      .strictObject({ status: z.int().min(100).max(999), retryAfter: z.string().max(256).optional() })
      .optional()
      .describe(
        'a further request under this order was answered with that: 429, 503, or any status with a Retry-After',
      ),
  })
export type OrderReport = z.output<ReturnType<typeof orderCompletionBody>>

export const PoolPath = z.object({ pool: z.string().min(1).max(64) })
export const PoolQuery = z.object({
  max: z.coerce.number().int().min(1).max(100).default(1).describe('orders at once, each of another lane'),
  waitMs: z.coerce.number().int().min(0).max(60_000).default(0).describe('how long to wait for the first one, ms'),
})
const SendWithin = z
  .number()
  .describe(
    'the first byte leaves within so many ms of this answer, or not at all: 1,000, less the age of the answer of the ledger',
  )

const OrderAnswer = z.object({
  permit: z.string().describe('completed, extended and given back like any permit'),
  id: z.string().describe('of the candidate'),
  url: z.string(),
  agent: z.string(),
  method: z.enum(['GET', 'HEAD']),
  headers: z.array(z.tuple([z.string(), z.string()])).describe('to be sent; others belong to the connection'),
  sendWithinMs: SendWithin,
  leaseMs: z.number(),
  delayMs: z.number(),
  attempt: z.number().describe('1 for the first try'),
  maxBytes: z.number().describe('of the body'),
  deadlineMs: z.number().optional().describe('for the whole exchange, as the frontier wants it'),
  accept: z.array(z.string()).optional().describe('media types that are wanted'),
  meta: z.record(z.string(), z.unknown()).optional(),
})
export type OrderGiven = z.output<typeof OrderAnswer>
export const OrdersAnswer = z.object({ orders: z.array(OrderAnswer).describe('none: none came within waitMs') })
export const RequestBody = z.strictObject({ url })
export const RequestAnswer = z.object({
  permit: z.string(),
  url: z.string(),
  sendWithinMs: SendWithin,
  leaseMs: z.number(),
})
export type RequestAnswer = z.output<typeof RequestAnswer>

export const RobotsQuery = z.object({ url, agent: z.string().max(64).optional() })
export const PermitPath = z.object({ permit: z.string().min(1).max(4_096) })
export const KeyHeader = z.looseObject({ 'idempotency-key': z.string().min(1).max(255).optional() })

const gate = z.enum([...Object.values(LEDGER_GATES), 'crawl-delay', 'robots-unreachable'])
export type Gate = z.output<typeof gate>
const index = z.int().describe('position among the requested URLs, from 0')
const RefusedAnswer = ProblemAnswer.extend({ index }).meta({ id: 'Refused' })
export type RefusedAnswer = z.output<typeof RefusedAnswer>
const ofSeveral = {
  index: index.optional(),
  refused: z.array(RefusedAnswer).optional().describe('the URLs that will never be granted'),
}
export const GrantedAnswer = z.object({
  decision: z.literal('granted'),
  permit: z.string(),
  url: z.string(),
  agent: z.string(),
  userAgent: z.string().describe('the name under which the request is sent'),
  sendWithinMs: SendWithin,
  leaseMs: z.number().describe('the exchange ends, or is extended, within so many ms of this answer'),
  delayMs: z.number().describe('kept after the exchange before the next one of the lane'),
  ...ofSeveral,
  would: z
    .looseObject({ decision: z.enum(['granted', 'wait', 'refused']) })
    .optional()
    .describe('the fate of a shadow request under real permits'),
})
export type GrantedAnswer = z.output<typeof GrantedAnswer>
export const WaitAnswer = z.object({
  decision: z.literal('wait'),
  url: z.string().describe('the URL that may go first'),
  retryAfterMs: z.number(),
  gate,
  holder: z.enum(['url', 'permit']).optional().describe('who has the lane: a URL stored here, or another permit'),
  ahead: z.number().describe('callers of this process that came before'),
  detail: z.string().optional(),
  ...ofSeveral,
})
export type WaitAnswer = z.output<typeof WaitAnswer>
export const HeldAnswer = z.object({
  permit: z.string(),
  agent: z.string(),
  origin: z.string(),
  leaseMs: z.number().optional().describe('from now on'),
  sendWithinMs: SendWithin.optional(), // for an order
  stop: z
    .enum(Object.values(LEDGER_GATES))
    .optional()
    .describe('end the exchange: an operator or the site wants no more now'),
})
export type HeldAnswer = z.output<typeof HeldAnswer>
export const EndedAnswer = z.object({ permit: z.string(), ended: z.enum(['completed', 'unused']) })
export type Ended = z.output<typeof EndedAnswer>['ended']
export const RobotsAnswer = z.object({
  url: z.string(),
  agent: z.string(),
  verdict: z.enum(['allowed', 'disallowed', 'unknown']),
  why: z.string().optional(),
  rule: z.string().optional(),
  line: z.number().optional(),
  group: z.array(z.string()).optional(),
  delayMs: z.number(),
  maxAgeMs: z.number().describe('the verdict may be kept for so long'),
})
export type RobotsAnswer = z.output<typeof RobotsAnswer>
const Counts = z.object({
  requests: z.number(),
  granted: z.number().describe('would have gone at once'),
  waited: z.number().describe('would have waited'),
  refused: z.number().describe('would never have gone'),
  waitMs: z.number().describe('total, ms'),
  longestMs: z.number(),
})
export type Counts = z.output<typeof Counts>
const perWord = z.record(z.string(), z.number())
export const ShadowAnswer = z.object({
  since: z.number().describe('ms since 1970'),
  ...Counts.shape,
  lanesForgotten: z.number().describe('lanes dropped from this list because it is bounded; the totals include them'),
  lanes: z
    .array(z.object({ agent: z.string(), origin: z.string(), ...Counts.shape, gates: perWord, refusals: perWord }))
    .describe('the hundred that would have waited or been refused most often'),
})
export type ShadowAnswer = z.output<typeof ShadowAnswer>
