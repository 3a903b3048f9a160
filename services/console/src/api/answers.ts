/** Schemas of the API's answers: OpenAPI prints them, tests validate real answers against them. Instants: ms since 1970 UTC. */
import { FOREVER, GATES, OrderedShape, OUTCOME_KINDS, TOLERATED, type Tolerated } from '@decorum/protocol'
import { READ_GATES } from '@decorum/protocol/gates'
import { z } from 'zod'
import { WAIT_STATES } from '../why.ts'

export const instant = z.number().meta({ description: 'ms since 1970 UTC' })
export const meta = z.record(z.string(), z.unknown())

/** Additional members of a problem of the intake. */
export const Line = z.number().int().optional().meta({ description: 'of the body, from 1' })
export const Stored = z.number().int().optional().meta({ description: 'candidates stored before Redis went away' })

export const Why = z
  .strictObject({
    state: z.enum(WAIT_STATES),
    sentence: z.string(),
    until: instant.optional().meta({ description: 'when this gate opens by itself' }),
  })
  .meta({ id: 'Why' })

const Delay = z
  .strictObject({
    delayMs: z.number(),
    from: z.enum(['floor', 'crawl-delay', 'cap', 'operator', 'policy', 'consent']),
    clampedFrom: z.number().optional().meta({ description: "the site's crawl-delay, seconds, cut by the cap" }),
    adaptive: z
      .strictObject({ factor: z.number(), floorMs: z.number(), capMs: z.number() })
      .optional()
      .meta({ description: 'after a slow answer longer: factor × what it took, ms, within [floorMs, capMs]' }),
  })
  .meta({ id: 'Delay' })

const Lane = z
  .strictObject({
    agent: z.string(),
    origin: z.string(),
    waiting: z.number().int().meta({ description: 'URLs, the one in flight included' }),
    state: z.enum(['idle', 'waiting', 'reserved', 'in-flight']),
    due: instant.optional(),
    heldBy: z.enum(GATES).optional(),
    closed: z
      .array(z.strictObject({ gate: z.enum(READ_GATES), until: instant }))
      .meta({ description: 'every gate of the ledger that is closed to its URLs' }),
    tries: z.number().int(),
    head: z
      .strictObject({
        id: z.string(),
        path: z.string(),
        expiresAt: instant,
        hops: z.number().int(),
        priority: z.enum(['high', 'normal']),
        meta: meta.optional(),
        request: OrderedShape.optional(),
      })
      .optional(),
    why: Why,
    delay: Delay.optional(),
  })
  .meta({ id: 'Lane' })

const Copy = z.strictObject({
  kind: z.string(),
  hash: z.string(),
  at: instant,
  etag: z.string().optional(),
  lastModified: z.string().optional(),
})
const RobotsState = z
  .strictObject({
    question: z.strictObject({ fence: z.number(), until: instant }).optional(),
    answer: z
      .strictObject({
        kind: z.string(),
        at: instant,
        status: z.number().int().optional(),
        reason: z.string().optional(),
        freshForMs: z.number().optional(),
        jitter: z.number(),
      })
      .optional(),
    notBefore: instant.optional(),
    copy: Copy.optional(),
    olderCopies: z.record(z.string(), Copy).optional(),
    heard: z
      .record(z.string(), z.strictObject({ at: instant, nextAt: instant.optional(), since: z.number().int() }))
      .optional(),
    first: z.strictObject({ at: instant, count: z.number().int() }).optional(),
    siteAnsweredAt: instant.optional(),
  })
  .meta({ id: 'RobotsState', description: 'facts known of the robots.txt; policies read them' })

const byHand = z.strictObject({
  until: z.number().meta({ description: `ms since 1970 UTC; ${FOREVER}: until somebody ends it` }),
  reason: z.string(),
})
const Policy = z
  .strictObject({
    site: z.string().meta({ description: 'under which name it stands in SITE_POLICIES' }),
    delayMs: z.number().optional(),
    consent: z
      .string()
      .optional()
      .meta({ description: 'why the delay counts also where agent or robots.txt ask for more' }),
    hours: z.string().optional().meta({ description: 'visiting hours, UTC' }),
    requestsPerDay: z.number().int().optional(),
    requestsToday: z.number().int().optional().meta({ description: 'to this host since midnight UTC' }),
  })
  .meta({ id: 'Policy', description: "the policy of the fleet's configuration that counts for this host" })
export const OriginAnswer = z
  .strictObject({
    origin: z.string(),
    version: z.number().int().meta({ description: 'of the robots state: rises with each answer' }),
    state: RobotsState,
    robots: z.string().meta({ description: 'the state in a word or two' }),
    sitemaps: z
      .array(z.string())
      .optional()
      .meta({ description: 'of its robots.txt, as written, at most 1,000; of one origin alone, not in lists' }),
    backOff: z.strictObject({ until: instant, incidents: z.number().int() }).optional(),
    failures: z.number().int().optional().meta({
      description: 'requests in a row that were turned away (403) or got no answer; a good answer halves it',
    }),
    paused: byHand.optional(),
    blocked: byHand.optional(),
    override: byHand.extend({ delayMs: z.number() }).optional(),
    policy: Policy.optional(),
    delays: z
      .array(z.strictObject({ agent: z.string(), delayMs: z.number(), clampedFrom: z.number().optional() }))
      .meta({ description: 'recorded from the rules' }),
    lanes: z.array(Lane),
    now: instant.meta({ description: "Redis's clock" }),
    dropped: z.number().int().optional().meta({ description: 'URLs that a drop has ended' }),
  })
  .meta({ id: 'Origin' })

export const ListAnswer = z.strictObject({
  origins: z.array(OriginAnswer),
  looked: z.number().int().meta({ description: 'lanes looked at to find these' }),
  complete: z.boolean().meta({ description: 'false: there are lanes that were not looked at' }),
  next: z
    .string()
    .optional()
    .meta({ description: 'the place of the next page, for `after`; absent: this is the last' }),
})

const ORIGIN_OPERATIONS = ['pause', 'resume', 'block', 'unblock', 'delay', 'restore-delay', 'refetch', 'drop'] as const
export const OPERATIONS = [...ORIGIN_OPERATIONS, 'forget-reader'] as const
const Operation = z
  .strictObject({
    at: instant,
    origin: z.string().optional().meta({ description: 'absent: it concerned no origin' }),
    action: z.enum(OPERATIONS),
    by: z.string(),
    reason: z.string(),
    until: instant.optional(),
    delayMs: z.number().optional(),
    dropped: z.number().int().optional(),
    crawl: z.string().optional(),
    group: z.string().optional(),
    unread: z.number().int().optional().meta({ description: 'outcomes that a forgotten reader had not acknowledged' }),
  })
  .meta({ id: 'Operation' })
export type Operation = z.output<typeof Operation>
export const OperationsAnswer = z.strictObject({ operations: z.array(Operation) })

const RuleRef = z.strictObject({ type: z.enum(['allow', 'disallow']), pattern: z.string(), line: z.number().int() })
const Group = z.strictObject({ agents: z.array(z.string()), line: z.number().int() })
export const CheckAnswer = z
  .strictObject({
    url: z.string(),
    origin: z.string(),
    agent: z.string(),
    profile: z.string(),
    verdict: z.enum(['allowed', 'disallowed', 'ask-first', 'wait']).meta({
      description: 'ask-first: the robots.txt must be fetched before; wait: it is being fetched, or is unreachable',
    }),
    why: z.string(),
    sentence: z.string(),
    until: instant.optional().meta({ description: 'verdict wait: the answer may change then' }),
    path: z.string().optional().meta({ description: 'as compared with the patterns' }),
    rule: RuleRef.optional(),
    group: Group.optional(),
    token: z.string().optional().meta({ description: "whose group was taken; '*': everybody's" }),
    losers: z
      .array(RuleRef.extend({ why: z.enum(['shorter', 'tie-allow-wins', 'tie-line-above-wins']) }))
      .optional()
      .meta({ description: 'rules that matched and did not decide' }),
    rules: z
      .strictObject({
        hash: z.string(),
        at: instant,
        stale: z.boolean().meta({ description: 'an old copy, kept through an outage' }),
        refresh: z.boolean().meta({ description: 'the fleet is about to ask again' }),
      })
      .optional(),
    delay: Delay.extend({
      floorMs: z.number(),
      capMs: z.number(),
      site: z
        .strictObject({ seconds: z.number(), written: z.string(), line: z.number().int(), honoured: z.boolean() })
        .optional(),
    }),
    policy: Policy.optional(),
    lane: Lane,
    robots: z.string(),
    state: RobotsState,
    now: instant,
  })
  .meta({ id: 'Check' })
export type CheckAnswer = z.output<typeof CheckAnswer>

export const PartitionsAnswer = z.array(
  z.strictObject({
    tag: z.string(),
    now: instant,
    holdUntil: instant.optional(),
    stopped: z.string().optional().meta({ description: 'everything is stopped: the reason given' }),
    lanes: z.number().int(),
    due: z.number().int(),
    inFlight: z.number().int(),
    waiting: z.number().int(),
    unread: z.number().int(),
    nextDue: instant.optional(),
    counts: z.record(z.string(), z.number()),
  }),
)

const number_ = z.number().nullable()
const column = z.array(number_).meta({ description: 'one per instant; null: no sample was taken' })
export const HistoryAnswer = z
  .strictObject({
    at: z.array(z.number().int()).meta({ description: 's since 1970 UTC, a minute apart' }),
    waiting: column,
    due: column,
    lanes: column,
    inFlight: column,
    unread: column,
    jobs: column.meta({ description: 'jobs of candidates that wait for a gateway' }),
    lagMs: column.meta({ description: 'lateness of the oldest due lane, summed over partitions' }),
    outcomes: z.record(z.enum(OUTCOME_KINDS), column).meta({ description: 'per minute' }),
    statuses: z
      .record(z.string(), column)
      .meta({ description: 'answers of outcomes per minute, by status code; seldom ones by class, such as 4xx' }),
    tookMs: z
      .strictObject({ half: column, most: column })
      .meta({ description: 'how long exchanges took, ms: half of them at most, and 95 of 100' }),
  })
  .meta({ id: 'History' })

const Note = z
  .strictObject({
    at: instant,
    what: z.enum(['outcome', 'back-off', 'robots', 'request', 'act']),
    exchange: z
      .strictObject({ agent: z.string(), endedAt: instant, ms: z.number(), owedMs: z.number() })
      .optional()
      .meta({ description: 'the request: it ended then and took so long; its lane owed this delay afterwards, ms' }),
    kind: z.enum(OUTCOME_KINDS).optional(),
    agent: z.string().optional(),
    url: z.string().optional(),
    id: z.string().optional(),
    reason: z.string().optional(),
    status: z.number().int().optional(),
    detail: z.string().optional(),
    tolerated: z
      .array(z.enum(Object.keys(TOLERATED) as Tolerated[]))
      .optional()
      .meta({ description: 'faults of the answer that were overlooked' }),
    rule: z.string().optional().meta({ description: 'that refused the URL' }),
    line: z.number().int().optional(),
    cause: z.enum(['asked-for-less', 'asked-to-wait', 'turned-away', 'no-answer']).optional(),
    retryAfterMs: z.number().optional(),
    retryAfterUnread: z.string().optional().meta({ description: 'a Retry-After that could not be read, as written' }),
    until: z.number().optional(),
    incidents: z.number().optional(),
    failures: z.number().optional(),
    answer: z.string().optional().meta({ description: 'of robots.txt' }),
    action: z.string().optional(),
    by: z.string().optional(),
    value: z.string().optional(),
  })
  .meta({ id: 'Note', description: 'what happened to an origin' })
export const NotesAnswer = z.strictObject({ notes: z.array(Note).meta({ description: 'newest first' }) })

export const FailuresAnswer = z.strictObject({
  reasons: z.array(
    z
      .strictObject({
        kind: z.enum(['failed', 'expired', 'invalid', 'refused']),
        reason: z.string(),
        total: z.number().int().meta({ description: 'since the beginning' }),
        lastHour: z.number().int().optional(),
        examples: z.array(Note).meta({ description: 'newest first, at most 10, of the last day' }),
      })
      .meta({ id: 'ReasonCount' }),
  ),
})

const Process = z
  .strictObject({
    id: z.string(),
    role: z.string(),
    slots: z.number().int(),
    about: z
      .strictObject({
        host: z.string(),
        pid: z.number().int(),
        version: z.string().meta({ description: 'of Decorum' }),
        commit: z.string().optional().meta({ description: 'that it was made from, or unknown' }),
        config: z.number().int().meta({ description: 'version of the configuration that it goes by' }),
        pending: z.array(z.string()).meta({ description: 'settings that wait until it is started again' }),
        keepsPages: z.boolean().optional(),
        pools: z
          .record(z.string(), z.strictObject({ wanted: z.number().int() }))
          .optional()
          .meta({ description: 'of permits processes: orders that the workers of each pool asked for at once' }),
        passing: z
          .array(
            z.strictObject({
              agent: z.string(),
              crawl: z.string().optional(),
              token: z.string().optional().meta({ description: 'name of the token; absent: it has none' }),
              waiting: z.number().int(),
              sent: z.number().int().meta({ description: 'since the proxy was started' }),
              refused: z.number().int().meta({ description: 'by the proxy' }),
            }),
          )
          .optional()
          .meta({ description: 'of proxies: the clients that most goes through for, as of some seconds ago' }),
      })
      .optional(),
  })
  .meta({ id: 'Process' })
export const FleetAnswer = z.strictObject({
  config: z.number().int().meta({ description: 'version of the configuration in force' }),
  members: z.array(Process),
})

const ConfigVersion = z
  .strictObject({
    version: z.number().int(),
    at: instant,
    by: z.string(),
    reason: z.string(),
    via: z.enum(['environment', 'apply', 'rollback', 'memory']),
    values: meta,
  })
  .meta({ id: 'ConfigVersion' })
export const ConfigurationAnswer = z.strictObject({
  current: ConfigVersion.optional(),
  history: z.array(ConfigVersion).meta({ description: 'newest first, at most 100' }),
})

export const BytesAnswer = z.string().meta({ description: 'bytes' })
export const StoredAnswer = z.strictObject({ count: z.number().int().meta({ description: 'candidates stored' }) })

const Stop = z
  .strictObject({
    name: z.string().meta({ description: 'a host or address, with every name below it; `*`: everything' }),
    at: instant,
    by: z.string(),
    reason: z.string(),
    until: instant.optional().meta({ description: 'absent: until it is lifted' }),
    lifted: z.strictObject({ at: instant, by: z.string(), reason: z.string() }).optional(),
  })
  .meta({ id: 'Stop' })
export const StopsAnswer = z.strictObject({
  version: z.number().int(),
  stops: z.array(Stop),
  unreached: z
    .number()
    .int()
    .optional()
    .meta({ description: 'partitions that did not answer; each gets the stops when it does' }),
})

const ReaderAnswer = z
  .strictObject({
    crawl: z.string(),
    group: z.string(),
    lag: z.number().int().meta({ description: 'outcomes that it has not been handed' }),
    lagIsLeast: z.boolean().meta({ description: 'true: there are more, but Redis does not know how many' }),
    pending: z.number().int().meta({ description: 'handed out and not acknowledged' }),
    oldest: z
      .strictObject({
        entry: z.string().meta({ description: 'in the stream' }),
        id: z.string().optional().meta({ description: 'of its candidate' }),
        ageMs: z.number(),
      })
      .optional()
      .meta({ description: 'the oldest outcome that it has not acknowledged' }),
    idleMs: z.number().optional().meta({ description: 'since the last sign of life; absent: it has no consumer' }),
    consumers: z
      .array(z.strictObject({ name: z.string(), idleMs: z.number(), pending: z.number().int() }))
      .meta({ description: 'those that hold most, first' }),
    consumerCount: z.number().int(),
    isRead: z.boolean().meta({ description: 'a consumer has given a sign of life within the last minute' }),
    pausesCrawl: z.boolean().meta({ description: 'OUTCOMES_LIMIT is reached, and this group has most to read' }),
  })
  .meta({ id: 'Reader' })
export type ReaderAnswer = z.output<typeof ReaderAnswer>
const CrawlRecordAnswer = z
  .strictObject({
    version: z.number(),
    weight: z.number().int(),
    state: z.enum(['running', 'paused', 'cancelled', 'ended', 'spent']),
    expiresAt: z.number().optional(),
    limits: z.record(z.string(), z.number()).optional(),
    settings: z.record(z.string(), z.unknown()).optional(),
    at: z.number().meta({ description: 'of the latest change, ms since 1970 UTC; 0: nothing was ever set' }),
    by: z.string(),
    reason: z.string(),
  })
  .meta({ id: 'CrawlRecord' })
const CrawlAnswer = z
  .strictObject({
    name: z.string(),
    record: CrawlRecordAnswer,
    waiting: z.number().int().meta({ description: 'URLs that are stored' }),
    unread: z.number().int().meta({ description: 'outcomes that are stored' }),
    unreadInOne: z
      .number()
      .int()
      .meta({ description: 'in the partition that stores most of them: at OUTCOMES_LIMIT the crawl waits there' }),
    counts: z.record(z.string(), z.number()).meta({ description: 'outcomes since the beginning, by kind' }),
    bytes: z.number().meta({ description: 'of bodies on the wire; of the crawl `default` they are not counted' }),
  })
  .meta({ id: 'Crawl' })
export const CrawlsAnswer = z.strictObject({ crawls: z.array(CrawlAnswer) })
export const ChangedCrawlAnswer = z.strictObject({
  name: z.string(),
  record: CrawlRecordAnswer,
  unreached: z
    .number()
    .int()
    .meta({ description: 'partitions that did not answer: each gets the change when it does' }),
})
export const ForgottenCrawlAnswer = z.strictObject({ name: z.string(), forgotten: z.literal(true) })
export const ReadersAnswer = z.strictObject({ readers: z.array(ReaderAnswer) })
export const ForgottenAnswer = z.strictObject({
  crawl: z.string(),
  group: z.string(),
  unread: z.number().int().meta({ description: 'outcomes that it had not acknowledged' }),
})
export const AcknowledgedAnswer = z.strictObject({
  acknowledged: z.number().int().meta({ description: 'that had not been acknowledged before' }),
})
