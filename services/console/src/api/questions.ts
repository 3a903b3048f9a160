/** Requests of the API: path, query and body of each operation. Routes validate with these, OpenAPI prints them. */
import { SitePolicyEntry } from '@decorum/config'
import { readReference } from '@decorum/content/server'
import { MOST_STOPS, MOST_WEIGHT, readStopName } from '@decorum/ledger'
import {
  Candidate,
  CrawlName,
  DEFAULT_CRAWL,
  FOREVER,
  GATES,
  MAX_ID_CHARS,
  MAX_URL_CHARS,
  PoolName,
  printableUrl,
  readUrl,
} from '@decorum/protocol'
import { complain } from '@decorum/runtime/http-api'
import { z } from 'zod'
import { WAIT_STATES } from '../why.ts'

/** Who does something and why: in `signed` the reason is optional, in `reasoned` it is required. */
const text = z.string().trim().max(512)
const By = text.min(1).optional().describe('who; default: the login, else "console"')
const Why = text.describe('why; written down')
const signed = { reason: Why.default(''), by: By }
const reasoned = { reason: Why.min(1, 'a reason is needed: it is written down'), by: By }

const Origin = z
  .string()
  .max(MAX_URL_CHARS)
  .meta({
    description: 'scheme://host[:port], percent-encoded as one path segment',
    examples: ['https%3A%2F%2Fexample.com'],
  })
  .transform((text, context) => {
    const at = readUrl(text)
    if ('refused' in at) {
      return complain(
        context,
        at.refused,
        `an origin such as https://example.com is needed, URL-encoded: ${at.refused}`,
      )
    }
    if (at.path !== '/') return complain(context, 'not-an-origin', `an origin has no path: did you mean ${at.origin}?`)
    return at.origin
  })
export const OriginPath = z.strictObject({ origin: Origin })

const CrawlUrl = z
  .string()
  .describe('an absolute http or https URL')
  .transform((text, context) => {
    const at = readUrl(text)
    if (!('refused' in at)) return at
    return complain(context, at.refused, `this cannot be fetched at all (${at.refused}): ${printableUrl(text, 200)}`)
  })
const AgentName = z.string().max(64).describe('one of DECORUM_AGENTS; default: the first')
export const CheckQuery = z.strictObject({ url: CrawlUrl, agent: AgentName.optional() })

/** The host of a domain as typed, which may be a host or any URL of it; undefined: there is none. */
function domainOf(text: string): string | undefined {
  const at = readUrl(text.includes('://') ? text : `http://${text}`)
  return 'refused' in at ? undefined : URL.parse(at.origin)?.hostname
}

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most)
const limit = (most: number, fallback: number) => whole(1, most).default(fallback)
export const ListQuery = z.strictObject({
  sort: z
    .enum(['soonest', 'latest', 'in-flight'])
    .optional()
    .describe(
      'by the instant at which the lane is due, earliest or latest first; or by the end of its lease. ' +
        'Default: by the end of the gate that holds them, where one is asked for; else soonest',
    ),
  limit: limit(200, 50).describe('most origins answered'),
  state: z.enum(WAIT_STATES).optional().describe('only lanes that wait for this; without it, all that have work'),
  reason: z
    .enum([...GATES, 'blocked'])
    .optional()
    .describe('only what is held by this'),
  domain: z
    .string()
    .max(MAX_URL_CHARS)
    .transform((text, context) => domainOf(text) ?? complain(context, 'bad-domain', 'this is no host'))
    .optional()
    .describe('only this host and its subdomains: example.com; unordered'),
  after: z
    .string()
    .regex(/^(\d{1,20}(_\d{1,9})?|e)(\.(\d{1,20}(_\d{1,9})?|e)){0,1023}$/, 'is no place of a list')
    .optional()
    .describe('`next` of the previous page; repeat the other parameters'),
})
export type ListQuery = z.output<typeof ListQuery>
/** Minutes for which the ring keeps samples. */
export const HISTORY_MINUTES = 360
export const HistoryQuery = z.strictObject({ minutes: limit(HISTORY_MINUTES, HISTORY_MINUTES) })
export const OperationsQuery = z.strictObject({ limit: limit(1_000, 50), origin: Origin.optional() })

const streamName = z.string().regex(/^[\x21-\x7e]{1,128}$/, '1 to 128 printable characters without blanks')
const Crawl = CrawlName.default(DEFAULT_CRAWL).describe('name of the crawl whose outcomes are read')
const Group = streamName.describe(
  'the group that reads: each group receives every outcome, and continues where it stopped',
)
export const OutcomesQuery = z.strictObject({
  crawl: Crawl,
  group: Group,
  consumer: streamName
    .default('http')
    .describe('a reader of that group; a second request under the same name ends the first'),
  from: z.enum(['start', 'now']).default('start').describe('where a new group begins'),
  max: whole(1, 1_000)
    .optional()
    .describe('most outcomes of one answer (default 100); of a stream, most that are not acknowledged (default 1,000)'),
  waitMs: whole(0, 30_000).optional().describe('one answer: how long it may wait for the first outcome'),
  follow: z.stringbool().default(true).describe('a stream; false: it ends when nothing is left to read, or at `max`'),
  ack: z
    .enum(['explicit', 'sent'])
    .default('explicit')
    .describe('a stream; sent: outcomes count as acknowledged once they are written to the connection'),
})
export const AcknowledgeBody = z.strictObject({
  crawl: Crawl,
  group: Group,
  consumer: streamName.optional().describe('consumer whose heartbeat this also renews'),
  ids: z
    .array(z.string().regex(/^\d{1,20}-\d{1,20}@\d{1,4}(-\d{1,9})?$/, 'an id that came with an outcome is needed'))
    .max(1_000)
    .describe('that came with the outcomes; none: only a sign of life'),
})
export const ReadersQuery = z.strictObject({ crawl: Crawl })
export const ReaderPath = z.strictObject({ group: z.string().min(1).max(512) })
export const ForgetQuery = z.strictObject({
  crawl: Crawl,
  ...signed,
  force: z.stringbool().default(false).describe('also a group that somebody reads at present'),
})

export const ContentQuery = z.strictObject({
  ref: z
    .string()
    .describe('`archive.ref` of an outcome, percent-encoded')
    .transform((text, context) => {
      try {
        return { ref: text, reference: readReference(text) }
      } catch (error) {
        return complain(context, 'bad-reference', (error as Error).message)
      }
    }),
  as: z
    .enum(['record', 'body'])
    .default('record')
    .describe('record: the WARC record; body: of the page, without its content coding (no ranges)'),
})

export const CandidatePath = z.strictObject({ id: z.string().min(1).max(MAX_ID_CHARS) })
export const CandidateQuery = z.strictObject({
  url: CrawlUrl.optional().describe('its URL: without it the lane of an id is not known'),
  agent: AgentName.optional().describe('only the lane of this agent; default: all'),
  crawl: Crawl,
})

export const IntakeQuery = z.strictObject({
  agent: AgentName.optional(),
  crawl: CrawlName.optional().describe('the crawl of candidates that name none; default: `default`'),
})
/** In the form of `readCandidate`, which also checks the size of meta and the URL. */
const OneCandidate = Candidate.omit({ hops: true }).meta({ id: 'Candidate' })
export const IntakeBody = z.union([
  OneCandidate,
  z.array(OneCandidate),
  z.object({ candidates: z.array(OneCandidate).min(1) }),
])

const DAY = 86_400_000
const Until = z.number().max(FOREVER).describe('ms since 1970 UTC')
const end = {
  until: Until.optional(),
  forMs: z
    .int()
    .min(1)
    .max(3_650 * DAY)
    .optional()
    .describe('from now, ms'),
}
const twoEnds = ({ until, forMs }: { until?: number | undefined; forMs?: number | undefined }): string | undefined =>
  until !== undefined && forMs !== undefined ? 'until or forMs, not both: they could disagree' : undefined

/** Actions of an operator. Actions that restrict or delete need a reason; without an end they hold until somebody ends them. */
export const ActionBody = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal(['pause', 'block']), ...end, ...reasoned }),
    z.strictObject({
      action: z.literal('delay'),
      delayMs: z
        .int()
        .min(1)
        .max(7 * DAY)
        .describe('least delay, ms; never less than the rules ask, beyond the cap if need be'),
      ...end,
      ...reasoned,
    }),
    z.strictObject({ action: z.literal(['resume', 'unblock', 'restore-delay', 'refetch']), ...signed }),
    z.strictObject({
      action: z.literal('drop'),
      agent: AgentName.optional().describe('only the lane of this agent; default: all'),
      ...reasoned,
    }),
  ])
  .superRefine((action, context) => {
    const isEndless = action.action === 'delay' && action.until === undefined && action.forMs === undefined
    const wrong = isEndless
      ? 'a delay by hand needs its end: forMs or until'
      : 'until' in action || 'forMs' in action
        ? twoEnds(action)
        : undefined
    if (wrong !== undefined) complain(context, 'bad-request', wrong)
  })
export type Action = z.output<typeof ActionBody>

export const SitePath = z.strictObject({
  site: z.string().trim().min(1, 'a site is needed, such as www.example.com').max(260),
})
export const PolicyBody = z.strictObject({ policy: SitePolicyEntry, ...reasoned })
export const RemovePolicyQuery = z.strictObject(reasoned)

const CrawlLimit = z.int().min(1).nullish()
const { redirects, accept, maxBytes, deadlineMs, priority } = Candidate.shape
/** null removes a limit or a setting. */
export const CrawlBody = z.strictObject({
  action: z.enum(['pause', 'resume', 'cancel']).optional().describe('cancel: for good'),
  weight: z.int().min(1).max(MOST_WEIGHT).optional().describe('turns beside other crawls; 1'),
  expiresAt: Until.nullish().describe('it ends then, ms since 1970 UTC'),
  limits: z
    .strictObject({
      stored: CrawlLimit.describe('URLs stored at once'),
      pagesPerDay: CrawlLimit.describe('URLs taken in on one day (UTC)'),
      pagesPerHost: CrawlLimit.describe('URLs taken in of one host'),
      pagesPerDomain: CrawlLimit.describe('URLs taken in of one registrable domain'),
      bytes: CrawlLimit.describe('bytes of bodies in all'),
    })
    .optional(),
  settings: z
    .strictObject({
      redirects: redirects.nullable(),
      accept: accept.nullable(),
      maxBytes: maxBytes.nullable(),
      deadlineMs: deadlineMs.nullable(),
      priority: priority.nullable(),
      attempts: z.int().min(1).nullable().describe('requests for one URL'),
      pool: PoolName.nullable().describe('its pages are fetched by the workers of this pool'),
    })
    .partial()
    .optional()
    .describe('of candidates that do not say so themselves'),
  ...signed,
})
export const CrawlPath = z.strictObject({ crawl: CrawlName })

const StopName = z
  .string()
  .max(MAX_URL_CHARS)
  .describe('a domain or host, with all names below it; an address; or any URL of a host')
  .transform((text, context) => {
    try {
      return readStopName(text)
    } catch (error) {
      return complain(context, 'bad-name', (error as Error).message)
    }
  })
const Stopped = {
  everything: z.literal(true).optional(),
  names: z.array(StopName).min(1).max(MOST_STOPS).optional(),
}
export const StopsQuery = z.strictObject({
  ended: z.stringbool().default(false).describe('those that have ended as well'),
})
export const StopBody = z
  .discriminatedUnion('action', [
    z.strictObject({ action: z.literal('stop'), ...Stopped, ...end, ...reasoned }),
    z.strictObject({ action: z.literal('lift'), ...Stopped, ...signed }),
  ])
  .superRefine((body, context) => {
    const isOne = (body.everything === undefined) !== (body.names === undefined)
    const wrong = !isOne
      ? 'everything or names: one of them is needed'
      : body.action === 'stop'
        ? twoEnds(body)
        : undefined
    if (wrong !== undefined) complain(context, 'bad-request', wrong)
  })
export type StopRequest = z.output<typeof StopBody>
