/**
 * The stored form of a ledger: every key, hash field and record, each named once. TypeScript imports the names; in the scripts names such
 * as `KEY.due` or `LEASE.fence` are replaced by these values at load time (script-text.ts). lua/lib/keys.lua describes the content of each
 * key.
 */
import { CANDIDATES, DEFAULT_CRAWL, FOREVER, tagName } from '@decorum/protocol'
import type { GateName } from '@decorum/protocol/gates'
import { MAX_RETRY_AFTER_MS } from '@decorum/robots'

/**
 * The number of this layout. A ledger with another number is neither read nor written; `3>5` is one that is being upgraded. Raise the
 * number with every change that an earlier or later process would misread. `decorum ledger upgrade` takes one step, from the layout of the
 * previous release. Write that step in packages/ledger/src/move/upgrade.ts and the scripts in lua/upgrade beside it, replacing the previous
 * step, and write the fixture of the new layout with test/ledger/layouts/write.ts.
 */
export const LAYOUT = {
  version: '5',
  /**
   * The layout of a ledger that has, or has had, crawls beside the default one: a process that does not support crawls would ignore their
   * URLs. It differs in nothing else, and a ledger with the default crawl alone keeps `version`.
   */
  withCrawls: '6',
} as const

export const LAYOUT_VERSION = LAYOUT.version

/** Keys of a partition, behind its tag. Those with a colon are followed by a name. */
export const KEY = {
  /** every script declares this key: it routes the call to the partition's slot */
  epoch: 'epoch',
  /**
   * Every script declares this key too, followed by the number of partitions that the caller knows. It is never stored: while a slot moves
   * from one node of a cluster to another, Redis refuses a script that names an existing key and a missing one (TRYAGAIN). So a script
   * never works on half of a partition.
   */
  partitions: 'of:',
  due: 'due',
  /** the order of due lanes while more are due than can be reserved: lib/line.lua */
  line: 'line',
  lined: 'lined',
  inFlight: 'inflight',
  slotless: 'slotless',
  queues: 'queues',
  leases: 'leases',
  /** when the last exchange of a lane ended, and the delay owed from then on: LAST (lib/owed.lua) */
  ended: 'ended',
  lanes: 'lanes',
  normal: 'q:',
  high: 'h:',
  /** the turns of a lane's crawls, if it holds URLs of a crawl other than the default one (lib/turns.lua) */
  turns: 't:',
  /** the turns of the crawls that request permits in a lane (lib/permit-turns.lua) */
  permitTurns: 'pt:',
  /**
   * the names of the crawls, with the versions of their records; then, each followed by a name: the record of that crawl, the lanes with
   * its URLs, and its URLs taken in by host
   */
  crawls: 'crawls',
  crawl: 'crawl:',
  lanesOf: 'in:',
  hostsOf: 'hosts:',
  /** crawls that were forgotten within the last hour (lua/record/crawl-forget.lua) */
  forgotten: 'forgotten',
  origin: 'o:',
  changed: 'changed',
  ids: 'ids:',
  mark: 'mark:',
  body: 'b:',
  spent: 'spent',
  spentBeyond: 'spent-beyond',
  spentUnclaimed: 'spent-unclaimed',
  outcomes: 'outcomes',
  outbox: 'outbox',
  /** redirect targets that must wait before they enter the outbox */
  later: 'later',
  operations: 'operations',
  stops: 'stops',
  policies: 'policies',
  /** followed by a day, as the number of days since 1970 */
  requests: 'requests:',
  heldByPolicy: 'closed',
  waking: 'waking',
  counts: 'counts',
  fleet: 'fleet',
  pool: 'pool:',
  /** followed by a host: a robots fetch of another host was recently redirected to it (hop-turns.ts) */
  hopTurn: 'hop:',
  wake: 'wake',
  /** notes for operators: bounded, and each expires (lib/notes.lua) */
  notes: 'n:',
  noted: 'noted',
  examples: 'f:',
  ring: 'ring',
  closedIndex: 'shut:',
  /** marks of the lanes and counts that have moved to this partition during a change of the number of partitions */
  moved: 'moved',
  /** BullMQ's job of candidates; the marks of its chunks are fields of the job */
  candidateJob: `${CANDIDATES}:`,
} as const

/** Fields of the hash `epoch`. */
export const EPOCH = {
  /** the run of Redis in which the epoch began */
  run: 'run',
  id: 'id',
  previousId: 'prev',
  /** the ledger's time at the latest call of the previous epoch; everything written after that call is lost */
  keptUntil: 'kept',
  /** why the epoch began: why-held.ts */
  why: 'why',
  /** the ledger's time at the latest call */
  now: 'now',
  /** nothing is granted before this instant */
  holdUntil: 'hold',
  /** ms by which the ledger's time is ahead of Redis's clock; and a stretch of Redis's time that no process has confirmed: clock.lua */
  shift: 'shift',
  doubt: 'doubt',
  /** while Redis's clock runs fast: the share of its time that it gains (clock.lua) */
  excess: 'excess',
  /** when Redis lost its latest writes, and when every request of that time has ended: lib/owed.lua */
  lost: 'lost',
  /** the latest fence that was handed out */
  fence: 'fence',
  /** why no lease is left: ANNOUNCED */
  restartAnnounced: 'planned',
  /** the number of partitions, or `2>6` while it is being changed */
  partitions: 'of',
  /** number of the change of partitions that may write here; and `2>6` once the checks of that change have passed */
  change: 'change',
  moving: 'moving',
  /** the least delays of the fleet's configuration, LEAST_DELAY; the version is also that of the policies */
  leastDelays: 'leastDelays',
  /** the emergency stops in force: gates/stops.lua */
  stops: 'stops',
  /** the policies of sites: gates/policies.lua */
  policies: 'policies',
  layout: 'layout',
  /** the latest upgrade from an earlier layout: `3>5`, and the instant on Redis's clock, ms */
  upgraded: 'upgraded',
} as const

/**
 * The field `leastDelays`: the version of the configuration, then for each agent its name, its least delay, and when that was changed
 * (lib/owed.lua).
 */
export const LEAST_DELAY = { pattern: ';(%S+) (%d+) ([%d.]+)', format: ';%s %d %s' } as const

/**
 * An entry of the hash `ended`, packed: when the last exchange ended, the delay owed from then on, and the lane that made the request ('':
 * this one).
 */
export const LAST = { format: '<dds' } as const

/**
 * An entry of the hash `policies`: when it was changed, then delay (ms), '1' for consent, visiting hours (from, to, in minutes), requests a
 * day, each '-' where there is none, and the policy as JSON. Once the site's policy is removed, `dropped` replaces all but the instant.
 */
export const POLICY = {
  pattern: '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$',
  gone: 'gone',
  dropped: 'gone - - - - {}',
} as const

/** The hash `stops`: the field of the whole record (no host can have this name), and the end of a stop that does not expire. */
export const STOPS = { record: ':record', never: 'never', forever: FOREVER } as const

/**
 * Fields of the hash of an origin. Fields that nearly all origins have are stored under one letter, because Redis keeps them for a hundred
 * million origins (docs/scale.md).
 */
export const FIELD = {
  /** the state (state-text.ts); and when the state ends, if that is before the hash ends */
  robotsState: 's',
  robotsStateEnds: 'robotsStateEnds',
  /** version of the rules: rises with each recorded answer */
  version: 'v',
  /** '1' while no gate is closed: markChanged in gates.lua removes it */
  allOpen: 'p',
  /** followed by an agent: its delay in ms, and the seconds as written if they were clamped */
  delayOf: 'g:',
  clampedOf: 'w:',
  /** the robots fetch in flight */
  fetchFence: 'fetchFence',
  fetchUntil: 'fetchUntil',
  backOffUntil: 'backOffUntil',
  /** numbers in a row: of incidents (429, 503), and of failures (no answer, or 403) */
  incidents: 'incidents',
  failures: 'failures',
  /** set by operations of operators */
  pausedUntil: 'pausedUntil',
  /**
   * in the record of a host's `https:` origin: another scheme or port of the host is paused; and, followed by that origin, until when it is
   * paused
   */
  hostPausedUntil: 'hostPausedUntil',
  pauseOf: 'hp:',
  pauseReason: 'pauseReason',
  blockedUntil: 'blockedUntil',
  blockReason: 'blockReason',
  overrideDelay: 'overrideDelay',
  overrideUntil: 'overrideUntil',
  overrideReason: 'overrideReason',
  /** version of the rules that an operator has requested to be fetched again */
  refetchVersion: 'refetchVersion',
  /** not stored, but shown by views: the origin's site and its policy; and the requests to its host today */
  policy: 'policy',
  requestsToday: 'requestsToday',
} as const

/** Fields of an entry in `operations`. */
export const OPERATION = {
  at: 'at',
  by: 'by',
  action: 'action',
  origin: 'origin',
  value: 'value',
  till: 'until',
  reason: 'reason',
  /** the crawl of a `forget-reader`, which concerns no origin */
  crawl: 'crawl',
  group: 'group',
} as const

/**
 * Bounds of the records that are kept for operators. One partition holds at most 10,000 origins × 30 notes of some 300 bytes, 40 reasons ×
 * 10 examples, and a ring of 720 samples: about 100 MB when all of it is full.
 */
export const KEPT = {
  /** notes of one origin, origins that have notes, and how long notes are kept after the latest one, ms */
  notes: 30,
  origins: 10_000,
  notesMs: 259_200_000,
  /** examples of one reason, and how long examples are kept after the latest one, ms */
  examples: 10,
  examplesMs: 86_400_000,
  /** samples in the ring, the least time between two of them, and how long the ring is kept after the latest one, ms */
  samples: 720,
  sampleMs: 30_000,
  ringMs: 86_400_000,
  /** origins in the index of one gate: those that are held longest */
  closedIndex: 10_000,
} as const

/** The longest wait that a Retry-After date can request: as long as for a number of seconds. */
export const RETRY_AFTER = { longestMs: MAX_RETRY_AFTER_MS } as const

/** Approximate memory that Redis uses for a robots.txt body beside its bytes: lib/body-budget.lua. */
export const BODY = { besideBytes: 100 } as const

/** The lists of a lane, by these names for the default crawl; for another crawl, '@' and its name are appended. */
export const LIST = { normal: 'q', high: 'h' } as const
type Base = (typeof LIST)[keyof typeof LIST]
export type List = Base | `${Base}@${string}`

export const listOf = (priority: 'high' | 'normal' | undefined, crawl = DEFAULT_CRAWL): List => {
  const base = priority === 'high' ? LIST.high : LIST.normal
  return crawl === DEFAULT_CRAWL ? base : `${base}@${crawl}`
}
export const crawlOf = (list: List): string => (list.length > 1 ? list.slice(2) : DEFAULT_CRAWL)
export const priorityOf = (list: List): 'high' | 'normal' => (list.startsWith(LIST.high) ? 'high' : 'normal')
/** Both lists of a crawl, in the order in which their URLs are fetched. */
export const listsOf = (crawl: string): [List, List] => [listOf('high', crawl), listOf('normal', crawl)]

/**
 * Why no lease is left. plain: every lease had ended before Redis was stopped, or Redis is known to be new. unknown: Redis is new, and only
 * the process that made it knows its address and password.
 */
export const ANNOUNCED = { plain: '1', unknown: '2' } as const

/**
 * Values of `hasHigh` in the memory of a lane: it may also have URLs of priority high, or of crawls other than the default one.
 */
export const OTHERS = { high: '1', crawls: '2' } as const

/** The name of the default crawl among the turns of a lane. */
export const CRAWLS = { default: DEFAULT_CRAWL } as const

/** The score in `due` of the first turn in a line. */
export const LINE = { first: -1e11 } as const

/** Fields of a crawl in one partition. The hash also counts its outcomes by kind. */
export const CRAWL = {
  /** the record as JSON: crawls/record.ts */
  record: 'record',
  version: 'version',
  weight: 'weight',
  /** '1': none of its URLs is sent */
  held: 'held',
  /**
   * how many of its URLs this partition may hold, may take in today, and may take in from one host or registrable domain; absent: any
   * number
   */
  stored: 'stored',
  perDay: 'perDay',
  perHost: 'perHost',
  perDomain: 'perDomain',
  /** the latest day (since 1970, UTC) on which URLs came in, and how many; counted while `perDay` is set */
  day: 'day',
  today: 'today',
  /** bytes of the bodies of its pages, on the wire */
  bytes: 'bytes',
  /** how many URLs were stored, and how many have left, since the crawl began */
  storedEver: 'parked',
  left: 'left',
} as const

/** The purposes of leases; `candidate` is none: it marks a redirect's target among the items of LEAVING. */
export const KIND = {
  page: 'page',
  robots: 'robots',
  robotsPage: 'robots-page',
  hop: 'hop',
  permit: 'permit',
  host: 'host',
  paceGroup: 'pace-group',
  candidate: 'candidate',
} as const

/** The gates that scripts name. */
export const GATE = {
  startupHold: 'startup-hold',
  backOff: 'back-off',
  paused: 'paused',
  blocked: 'blocked',
  stopped: 'stopped',
  visitingHours: 'visiting-hours',
  budget: 'budget',
  delay: 'delay',
  laneBusy: 'lane-busy',
  paceGroup: 'pace-group',
  robotsInFlight: 'robots-in-flight',
  crawlHeld: 'crawl-held',
  rulesChanged: 'rules-changed',
  refetch: 'refetch',
  share: 'share',
  pool: 'pool',
} as const satisfies Record<string, GateName>

/** The fields of a lease, in order: s is a text, d a number, as struct.pack has them. A missing text is '', a missing number 0. */
const LEASE_TYPES = {
  fence: 's',
  list: 's',
  /** KIND; '' for a reservation */
  kind: 's',
  /** failures in a row before this lease, '' for none */
  failures: 's',
  /** version of the rules, set if every gate was open at the reservation; `start` relies on it */
  version: 's',
  /** secondary lease: the lane that makes the request, '' for this one */
  of: 's',
  notBefore: 'd',
  startedAt: 'd',
  delayMs: 'd',
  /** the delay that an operator had set when the lease was granted; a later delay is read when the lease ends (lib/owed.lua) */
  leastDelayMs: 'd',
  /** when the latest request under the lease may be sent; 0 for the first request of the lane itself */
  requestAt: 'd',
  ends: 'd',
  /** secondary lease: how many requests wait before the lane's own URLs */
  turnsAhead: 'd',
} as const

/** The memory of a lane, in order: each a text, '' when missing. */
const MEMORY_NAMES = [
  'attempts', // number of requests made for the first URL, and the list of that URL
  'list',
  'ownDue', // while a gate holds the lane beyond its due time: that due time, and the gate
  'heldBy',
  'hasHigh', // OTHERS: which other lists may hold URLs
] as const
type MemoryName = (typeof MEMORY_NAMES)[number]

/** Lua code that is copied into a script unchanged. */
export type Verbatim = { lua: string }
function verbatim(values: string[]): Verbatim {
  return { lua: values.join(', ') }
}

export const LEASE = {
  ...places(Object.keys(LEASE_TYPES) as (keyof typeof LEASE_TYPES)[], 1),
  format: `<${Object.values(LEASE_TYPES).join('')}`,
  none: verbatim(Object.values(LEASE_TYPES).map((type) => (type === 's' ? "''" : '0'))),
  /** replaces LEASE_FIELDS in a script */
  fields: verbatim(Object.keys(LEASE_TYPES)),
}

/** The record of a lane: `|attempts|list|ownDue|heldBy|hasHigh|`, omitted when all are '', and its first URL (lane.lua). */
export const MEMORY = {
  ...places(MEMORY_NAMES, 1),
  pattern: `^|${'([^|]*)|'.repeat(MEMORY_NAMES.length)}(.*)$`,
  none: verbatim(MEMORY_NAMES.map(() => "''")),
}

/** The fields of an origin that decide its gates and delays, in order (lib/gates.lua); the delay of the lane's agent comes last. */
const FACT_FIELDS = [
  'version',
  'backOffUntil',
  'pausedUntil',
  'hostPausedUntil',
  'blockedUntil',
  'fetchFence',
  'fetchUntil',
  'refetchVersion',
  'failures',
  'incidents',
  'overrideDelay',
  'overrideUntil',
  'blockReason',
] as const satisfies (keyof typeof FIELD)[]
export const FACTS = {
  ...places([...FACT_FIELDS, 'stateEnds', 'delayMs'] as const, 1),
  fields: verbatim([...FACT_FIELDS, 'robotsStateEnds' as const].map((name) => `'${FIELD[name]}'`)),
}

const MEMORY_TEXT = new RegExp(`^(?:\\|[^|]*){${MEMORY_NAMES.length}}\\|`)

export type LaneRecord = {
  memory: Record<MemoryName, string> | undefined
  /** the first URL, '' when there is none */
  first: string
  /** whether the list q may hold more URLs */
  more: boolean
}

export function readLaneRecord(record: string): LaneRecord {
  const text = MEMORY_TEXT.exec(record)?.[0] ?? ''
  const values = text.split('|').slice(1, -1)
  const memory = text === '' ? undefined : MEMORY_NAMES.map((name, n) => [name, values[n] ?? ''])
  const first = record.slice(text.length)
  const more = first.startsWith('+')
  return {
    memory: memory && (Object.fromEntries(memory) as Record<MemoryName, string>),
    first: more ? first.slice(1) : first,
    more,
  }
}

export function writeLaneRecord({ memory, first, more }: LaneRecord): string {
  const text = memory === undefined ? '' : `|${MEMORY_NAMES.map((name) => memory[name]).join('|')}|`
  return `${text}${more ? '+' : ''}${first}`
}

/** Maps each name to its place, counted from `first`; `size` is the number of names. */
export function places<Name extends string>(
  names: readonly Name[],
  first: 0 | 1,
): Record<Name, number> & { size: number } {
  const all = Object.fromEntries(names.map((name, n) => [name, n + first])) as Record<Name, number>
  return { ...all, size: names.length }
}

/** The keys of one partition, for TypeScript. */
export const keysOf = (tag: string) => ({
  tag,
  epoch: `${tag}:${KEY.epoch}`,
  count: (partitions: number | string) => `${tag}:${KEY.partitions}${partitions}`,
  due: `${tag}:${KEY.due}`,
  line: `${tag}:${KEY.line}`,
  lined: `${tag}:${KEY.lined}`,
  inFlight: `${tag}:${KEY.inFlight}`,
  slotless: `${tag}:${KEY.slotless}`,
  queues: `${tag}:${KEY.queues}`,
  leases: `${tag}:${KEY.leases}`,
  ended: `${tag}:${KEY.ended}`,
  lanes: `${tag}:${KEY.lanes}`,
  changed: `${tag}:${KEY.changed}`,
  outcomes: `${tag}:${KEY.outcomes}`,
  outbox: `${tag}:${KEY.outbox}`,
  later: `${tag}:${KEY.later}`,
  hopTurn: (name: string) => `${tag}:${KEY.hopTurn}${name}`,
  pool: (name: string) => `${tag}:${KEY.pool}${name}`,
  operations: `${tag}:${KEY.operations}`,
  stops: `${tag}:${KEY.stops}`,
  policies: `${tag}:${KEY.policies}`,
  heldByPolicy: `${tag}:${KEY.heldByPolicy}`,
  counts: `${tag}:${KEY.counts}`,
  wake: `${tag}:${KEY.wake}`,
  spent: `${tag}:${KEY.spent}`,
  notes: (origin: string) => `${tag}:${KEY.notes}${origin}`,
  noted: `${tag}:${KEY.noted}`,
  examples: (reason: string) => `${tag}:${KEY.examples}${reason}`,
  ring: `${tag}:${KEY.ring}`,

  moved: `${tag}:${KEY.moved}`,
  list: (list: List, lane: string) => `${tag}:${list}:${lane}`,
  turns: (lane: string) => `${tag}:${KEY.turns}${lane}`,
  permitTurns: (lane: string) => `${tag}:${KEY.permitTurns}${lane}`,
  crawls: `${tag}:${KEY.crawls}`,
  crawl: (name: string) => `${tag}:${KEY.crawl}${name}`,
  forgotten: `${tag}:${KEY.forgotten}`,
  hostsOf: (crawl: string) => `${tag}:${KEY.hostsOf}${crawl}`,
  lanesOf: (crawl: string) => `${tag}:${KEY.lanesOf}${crawl}`,
  body: (hash: string) => `${tag}:${KEY.body}${hash}`,
  origin: (origin: string) => `${tag}:${KEY.origin}${origin}`,
  ids: (bucket: string) => `${tag}:${KEY.ids}${bucket}`,
  /** marks a chunk that came in through another partition's queue, once it is stored */
  mark: (name: string) => `${tag}:${KEY.mark}${name}`,
})
export type Keys = ReturnType<typeof keysOf>

/** The list of the partitions' tags, in order. */
export const PARTITIONS_KEY = 'decorum:partitions'
/** Tags of partitions that were given up: no host lives there any more, but outcomes and candidates may still be stored there. */
export const RETIRED_KEY = '{decorum:partitions}:retired'
/**
 * Set when an operator or a command declares that this Redis has never held a ledger, so no request can be on the wire: ANNOUNCED. The
 * first process that opens a ledger deletes it.
 */
export const NEW_KEY = '{decorum:partitions}:new'
/** The lock of a change of partitions, and the number of changes that have begun. */
export const CHANGE_LOCK_KEY = '{decorum:partitions}:changing'
export const CHANGES_KEY = '{decorum:partitions}:changes'
/** Exists while a fetcher serves the pages that it keeps at this address (scheme, host, port); expires after a minute. */
export const contentKey = (base: string): string => `decorum:content:${base}`

/** The mark of an outbox entry whose candidate was stored; it is in the partition of the candidate's host. */
export const outboxMark = (tag: string, entry: string): string => `outbox:${tagName(tag)}:${entry}`

/** A lane's name in Redis. Agent keys hold no blank, so the first blank separates agent and origin. */
export const laneName = (agent: string, origin: string): string => `${agent} ${origin}`

export function readLaneName(name: string): { agent: string; origin: string } {
  const blank = name.indexOf(' ')
  return { agent: name.slice(0, blank), origin: name.slice(blank + 1) }
}
