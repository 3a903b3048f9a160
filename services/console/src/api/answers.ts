/** Schemas of the API's answers: OpenAPI prints them, tests validate real answers against them. Instants: ms since 1970 UTC. */
import { SitePolicyEntry } from '@decorum/config'
import { FOREVER, GATES, OrderedShape, OUTCOME_KINDS, TOLERATED, type Tolerated } from '@decorum/protocol'
import { READ_GATES } from '@decorum/protocol/gates'
import { z } from 'zod'
import { WAIT_STATES } from '../why.ts'

export const text = z.string()
export const whole = z.int()
const number = z.number()
export const instant = number.describe('ms since 1970 UTC')
export const meta = z.record(text, z.unknown())
export const optionalText = text.optional()
/** The schema of an object that has a name in the OpenAPI document. */
export const named = <T extends z.ZodRawShape>(id: string, shape: T) => z.strictObject(shape).meta({ id })

/** Additional members of a problem of the intake. */
export const Line = whole.optional().describe('line of the body, from 1')
export const Stored = whole.optional().describe('candidates stored before Redis went away')

export const Why = named('Why', {
  state: z.enum(WAIT_STATES),
  sentence: text,
  until: instant.optional().describe('when this gate opens by itself'),
})

const Delay = named('Delay', {
  delayMs: number,
  from: z.enum(['floor', 'crawl-delay', 'cap', 'operator', 'policy', 'consent']),
  clampedFrom: number.optional().describe("the site's crawl-delay, seconds, cut by the cap"),
  adaptive: z
    .strictObject({ factor: number, floorMs: number, capMs: number })
    .optional()
    .describe('after a slow answer longer: factor × what it took, ms, within [floorMs, capMs]'),
})

const Lane = named('Lane', {
  agent: text,
  origin: text,
  waiting: whole.describe('URLs, the one in flight included'),
  state: z.enum(['idle', 'waiting', 'reserved', 'in-flight']),
  due: instant.optional(),
  heldBy: z.enum(GATES).optional(),
  closed: z
    .array(z.strictObject({ gate: z.enum(READ_GATES), until: instant }))
    .describe('every gate of the ledger that is closed to its URLs'),
  tries: whole,
  head: z
    .strictObject({
      id: text,
      path: text,
      expiresAt: instant,
      hops: whole,
      priority: z.enum(['high', 'normal']),
      meta: meta.optional(),
      request: OrderedShape.optional(),
    })
    .optional(),
  why: Why,
  delay: Delay.optional(),
})

const Copy = z.strictObject({
  kind: text,
  hash: text,
  at: instant,
  etag: optionalText,
  lastModified: optionalText,
})
const RobotsState = z
  .strictObject({
    question: z.strictObject({ fence: number, until: instant }).optional(),
    answer: z
      .strictObject({
        kind: text,
        at: instant,
        status: whole.optional(),
        reason: optionalText,
        freshForMs: number.optional(),
        jitter: number,
      })
      .optional(),
    notBefore: instant.optional(),
    copy: Copy.optional(),
    olderCopies: z.record(text, Copy).optional(),
    heard: z.record(text, z.strictObject({ at: instant, nextAt: instant.optional(), since: whole })).optional(),
    first: z.strictObject({ at: instant, count: whole }).optional(),
    siteAnsweredAt: instant.optional(),
  })
  .meta({ id: 'RobotsState', description: 'facts known of the robots.txt; policies read them' })

const byHand = z.strictObject({
  until: number.describe(`ms since 1970 UTC; ${FOREVER}: until somebody ends it`),
  reason: text,
})
const Policy = z
  .strictObject({
    site: text.describe('under which name it stands in SITE_POLICIES'),
    ...SitePolicyEntry.shape,
    requestsToday: whole.optional().describe('to this host since midnight UTC'),
  })
  .meta({ id: 'Policy', description: "the policy of the fleet's configuration that counts for this host" })
export const PolicyAnswer = z.strictObject({
  site: text,
  policy: SitePolicyEntry.optional().describe('absent: it was removed'),
  version: whole.describe('of the configuration'),
})
export const OriginAnswer = named('Origin', {
  origin: text,
  version: whole.describe('version of the robots state: rises with each answer'),
  state: RobotsState,
  robots: text.describe('the state in a word or two'),
  sitemaps: z
    .array(text)
    .optional()
    .describe('of its robots.txt, as written, at most 1,000; of one origin alone, not in lists'),
  backOff: z.strictObject({ until: instant, incidents: whole }).optional(),
  failures: whole
    .optional()
    .describe('requests in a row that were turned away (403) or got no answer; a good answer halves it'),
  paused: byHand.optional(),
  blocked: byHand.optional(),
  override: byHand.extend({ delayMs: number }).optional(),
  policy: Policy.optional(),
  delays: z
    .array(z.strictObject({ agent: text, delayMs: number, clampedFrom: number.optional() }))
    .describe('recorded from the rules'),
  lanes: z.array(Lane),
  now: instant.describe("Redis's clock"),
  dropped: whole.optional().describe('URLs that a drop has ended'),
})

export const ListAnswer = z.strictObject({
  origins: z.array(OriginAnswer),
  looked: whole.describe('lanes that were checked to find these'),
  complete: z.boolean().describe('false: some lanes were not checked'),
  next: optionalText.describe('the place of the next page, for `after`; absent: this is the last'),
})

const ORIGIN_OPERATIONS = ['pause', 'resume', 'block', 'unblock', 'delay', 'restore-delay', 'refetch', 'drop'] as const
export const OPERATIONS = [...ORIGIN_OPERATIONS, 'forget-reader'] as const
const Operation = named('Operation', {
  at: instant,
  origin: optionalText.describe('absent: it concerned no origin'),
  action: z.enum(OPERATIONS),
  by: text,
  reason: text,
  until: instant.optional(),
  delayMs: number.optional(),
  dropped: whole.optional(),
  crawl: optionalText,
  group: optionalText,
  unread: whole.optional().describe('outcomes that a forgotten reader had not acknowledged'),
})
export type Operation = z.output<typeof Operation>
export const OperationsAnswer = z.strictObject({ operations: z.array(Operation) })

const RuleRef = z.strictObject({ type: z.enum(['allow', 'disallow']), pattern: text, line: whole })
const Group = z.strictObject({ agents: z.array(text), line: whole })
export const CheckAnswer = named('Check', {
  url: text,
  origin: text,
  agent: text,
  profile: text,
  verdict: z
    .enum(['allowed', 'disallowed', 'ask-first', 'wait'])
    .describe('ask-first: the robots.txt must be fetched before; wait: it is being fetched, or is unreachable'),
  why: text,
  sentence: text,
  until: instant.optional().describe('verdict wait: the answer may change then'),
  path: optionalText.describe('path and query of the URL, in the form that is compared with patterns'),
  rule: RuleRef.optional(),
  group: Group.optional(),
  token: optionalText.describe("whose group was taken; '*': everybody's"),
  losers: z
    .array(RuleRef.extend({ why: z.enum(['shorter', 'tie-allow-wins', 'tie-line-above-wins']) }))
    .optional()
    .describe('rules that matched and did not decide'),
  rules: z
    .strictObject({
      hash: text,
      at: instant,
      stale: z.boolean().describe('an old copy, kept through an outage'),
      refresh: z.boolean().describe('the fleet is about to fetch it again'),
    })
    .optional(),
  delay: Delay.extend({
    floorMs: number,
    capMs: number,
    site: z.strictObject({ seconds: number, written: text, line: whole, honoured: z.boolean() }).optional(),
  }),
  policy: Policy.optional(),
  lane: Lane,
  robots: text,
  state: RobotsState,
  now: instant,
})
export type CheckAnswer = z.output<typeof CheckAnswer>

export const PartitionsAnswer = z.array(
  z.strictObject({
    tag: text,
    now: instant,
    holdUntil: instant.optional(),
    stopped: optionalText.describe('everything is stopped: the reason given'),
    lanes: whole,
    due: whole,
    inFlight: whole,
    waiting: whole,
    unread: whole,
    nextDue: instant.optional(),
    counts: z.record(text, number),
  }),
)

const column = z.array(number.nullable()).describe('one per instant; null: no sample was taken')
export const HistoryAnswer = named('History', {
  at: z.array(whole).describe('s since 1970 UTC, a minute apart'),
  waiting: column,
  due: column,
  lanes: column,
  inFlight: column,
  unread: column,
  jobs: column.describe('jobs of candidates that wait for a gateway'),
  lagMs: column.describe('lateness of the oldest due lane, summed over partitions'),
  outcomes: z.record(z.enum(OUTCOME_KINDS), column).describe('per minute'),
  statuses: z
    .record(text, column)
    .describe('answers of outcomes per minute, by status code; seldom ones by class, such as 4xx'),
  tookMs: z
    .strictObject({ half: column, most: column })
    .describe('how long exchanges took, ms: half of them at most, and 95 of 100'),
})

const Note = z
  .strictObject({
    at: instant,
    what: z.enum(['outcome', 'back-off', 'robots', 'request', 'act']),
    exchange: z
      .strictObject({ agent: text, endedAt: instant, ms: number, owedMs: number })
      .describe('the request: it ended then and took so long; its lane owed this delay afterwards, ms'),
    kind: z.enum(OUTCOME_KINDS),
    agent: text,
    url: text,
    id: text,
    reason: text,
    status: whole,
    detail: text,
    tolerated: z
      .array(z.enum(Object.keys(TOLERATED) as Tolerated[]))
      .describe('faults of the answer that were overlooked'),
    rule: text.describe('that refused the URL'),
    line: whole,
    cause: z.enum(['asked-for-less', 'asked-to-wait', 'turned-away', 'no-answer']),
    retryAfterMs: number,
    retryAfterUnread: text.describe('a Retry-After that could not be read, as written'),
    until: number,
    incidents: number,
    failures: number,
    answer: text.describe('of robots.txt'),
    action: text,
    by: text,
    value: text,
  })
  .partial()
  .required({ at: true, what: true })
  .meta({ id: 'Note', description: 'what happened to an origin' })
export const NotesAnswer = z.strictObject({ notes: z.array(Note).describe('newest first') })

export const FailuresAnswer = z.strictObject({
  reasons: z.array(
    named('ReasonCount', {
      kind: z.enum(['failed', 'expired', 'invalid', 'refused']),
      reason: text,
      total: whole.describe('since the beginning'),
      lastHour: whole.optional(),
      examples: z.array(Note).describe('newest first, at most 10, of the last day'),
    }),
  ),
})

const Process = named('Process', {
  id: text,
  role: text,
  slots: whole,
  about: z
    .strictObject({
      host: text,
      pid: whole,
      version: text.describe('of Decorum'),
      commit: optionalText.describe('commit that it was built from, or unknown'),
      config: whole.describe('version of the configuration that it uses'),
      pending: z.array(text).describe('settings that wait until it is started again'),
      keepsPages: z.boolean().optional(),
      pools: z
        .record(text, z.strictObject({ wanted: whole }))
        .optional()
        .describe('for permits processes: orders that the workers of each pool requested at once'),
      passing: z
        .array(
          z.strictObject({
            agent: text,
            crawl: optionalText,
            token: optionalText.describe('name of the token; absent: it has none'),
            waiting: whole,
            sent: whole.describe('since the proxy was started'),
            refused: whole.describe('by the proxy'),
          }),
        )
        .optional()
        .describe('for proxies: the clients with most requests, as of some seconds ago'),
    })
    .optional(),
})
export const FleetAnswer = z.strictObject({
  config: whole.describe('version of the configuration in force'),
  members: z.array(Process),
})

const ConfigVersion = named('ConfigVersion', {
  version: whole,
  at: instant,
  by: text,
  reason: text,
  via: z.enum(['environment', 'apply', 'rollback', 'memory']),
  values: meta,
})
export const ConfigurationAnswer = z.strictObject({
  current: ConfigVersion.optional(),
  history: z.array(ConfigVersion).describe('newest first, at most 100'),
})

export const BytesAnswer = text.describe('bytes')
export const StoredAnswer = z.strictObject({ count: whole.describe('candidates stored') })

const Stop = named('Stop', {
  name: text.describe('a host or address, with every name below it; `*`: everything'),
  at: instant,
  by: text,
  reason: text,
  until: instant.optional().describe('absent: until it is lifted'),
  lifted: z.strictObject({ at: instant, by: text, reason: text }).optional(),
})
export const StopsAnswer = z.strictObject({
  version: whole,
  stops: z.array(Stop),
  unreached: whole.optional().describe('partitions that did not answer; each gets the stops when it does'),
})

const ReaderAnswer = named('Reader', {
  crawl: text,
  group: text,
  lag: whole.describe('outcomes that it has not been handed'),
  lagIsLeast: z.boolean().describe('true: there are more, but Redis does not know how many'),
  pending: whole.describe('handed out and not acknowledged'),
  oldest: z
    .strictObject({
      entry: text.describe('in the stream'),
      id: optionalText.describe('of its candidate'),
      ageMs: number,
    })
    .optional()
    .describe('the oldest outcome that it has not acknowledged'),
  idleMs: number.optional().describe('since the last sign of life; absent: it has no consumer'),
  consumers: z
    .array(z.strictObject({ name: text, idleMs: number, pending: whole }))
    .describe('those that hold most, first'),
  consumerCount: whole,
  isRead: z.boolean().describe('a consumer has given a sign of life within the last minute'),
  pausesCrawl: z.boolean().describe('OUTCOMES_LIMIT is reached, and this group has most to read'),
})
export type ReaderAnswer = z.output<typeof ReaderAnswer>
const CrawlRecordAnswer = named('CrawlRecord', {
  version: number,
  weight: whole,
  state: z.enum(['running', 'paused', 'cancelled', 'ended', 'spent']),
  expiresAt: number.optional(),
  limits: z.record(text, number).optional(),
  settings: z.record(text, z.unknown()).optional(),
  at: number.describe('time of the latest change, ms since 1970 UTC; 0: nothing was ever set'),
  by: text,
  reason: text,
})
const CrawlAnswer = named('Crawl', {
  name: text,
  record: CrawlRecordAnswer,
  waiting: whole.describe('URLs that are stored'),
  unread: whole.describe('outcomes that are stored'),
  unreadInOne: whole.describe('in the partition that stores most of them: at OUTCOMES_LIMIT the crawl waits there'),
  counts: z.record(text, number).describe('outcomes since the beginning, by kind'),
  bytes: number.describe('bytes of bodies on the wire; not counted for the crawl `default`'),
})
export const CrawlsAnswer = z.strictObject({ crawls: z.array(CrawlAnswer) })
export const ChangedCrawlAnswer = z.strictObject({
  name: text,
  record: CrawlRecordAnswer,
  unreached: whole.describe('partitions that did not answer: each gets the change when it does'),
})
export const ForgottenCrawlAnswer = z.strictObject({ name: text, forgotten: z.literal(true) })
export const ReadersAnswer = z.strictObject({ readers: z.array(ReaderAnswer) })
export const ForgottenAnswer = z.strictObject({
  crawl: text,
  group: text,
  unread: whole.describe('outcomes that it had not acknowledged'),
})
export const AcknowledgedAnswer = z.strictObject({
  acknowledged: whole.describe('that had not been acknowledged before'),
})
