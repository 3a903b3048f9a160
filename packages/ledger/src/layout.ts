/**
 * The stored form of a ledger: every key, hash field and record, each named once. TypeScript imports the names; in the scripts
 * `KEY.due` or `LEASE.fence` is replaced by what stands here when they are loaded (script-text.ts). lua/lib/keys.lua says what
 * each key holds.
 */
import { CANDIDATES, DEFAULT_CRAWL, FOREVER, tagName } from '@decorum/protocol'
import type { GateName } from '@decorum/protocol/gates'
import { MAX_RETRY_AFTER_MS } from '@decorum/robots'

/**
 * The number of this layout. A ledger with another number is neither read nor written; `3>5` is one that is being upgraded. Raise it
 * with every change that an earlier or later process would misread. `decorum ledger upgrade` takes one step, from the layout of the release
 * before: write it in packages/ledger/src/move/upgrade.ts and the scripts in lua/upgrade beside it, in place of the step before it, and
 * the fixture of the new layout by test/ledger/layouts/write.ts.
 */
export const LAYOUT = {
  version: '5',
  /**
   * Of a ledger that has, or has had, other crawls than the default one: a process that does not know crawls would pass their URLs over.
   * It differs in nothing else, and a ledger with the default crawl alone stays as it is.
   */
  withCrawls: '6',
} as const

export const LAYOUT_VERSION = LAYOUT.version

/** Keys of a partition, behind its tag. Those with a colon are followed by a name. */
export const KEY = {
  /** the key that every script declares: it routes the call to the partition's slot */
  epoch: 'epoch',
  /**
   * Declared beside it, with the number of partitions that the caller knows of behind it, and never stored: while a slot moves
   * from one node of a cluster to another, Redis runs no script that names a key which exists and one which does not (TRYAGAIN).
   * So a script never works on half of a partition.
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
  /** when the last exchange of a lane ended, and what it owes: LAST (lib/owed.lua) */
  ended: 'ended',
  lanes: 'lanes',
  normal: 'q:',
  high: 'h:',
  /** of a lane that holds URLs of another crawl than the default one: whose turn it is (lib/turns.lua) */
  turns: 't:',
  /** of a lane in which crawls ask for permits: their turns (lib/permit-turns.lua) */
  permitTurns: 'pt:',
  /** the names of the crawls, with the version of their records; followed by a name: what is known of it; and the lanes with its URLs */
  crawls: 'crawls',
  crawl: 'crawl:',
  lanesOf: 'in:',
  hostsOf: 'hosts:',
  /** crawls that were forgotten, for an hour (lua/record/crawl-forget.lua) */
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
  /** candidates that a redirect asked to wait: they enter the outbox when they are due */
  later: 'later',
  operations: 'operations',
  stops: 'stops',
  policies: 'policies',
  /** followed by a day, counted from 1970 */
  requests: 'requests:',
  heldByPolicy: 'closed',
  waking: 'waking',
  counts: 'counts',
  fleet: 'fleet',
  pool: 'pool:',
  /** followed by a host: a robots fetch of another one was redirected to it lately (hop-turns.ts) */
  hopTurn: 'hop:',
  wake: 'wake',
  /** what an operator may want to see later: bounded, and each ends by itself (lib/notes.lua) */
  notes: 'n:',
  noted: 'noted',
  examples: 'f:',
  ring: 'ring',
  closedIndex: 'shut:',
  /** lanes that have come to this partition while the number of partitions is changed */
  moved: 'moved',
  /** BullMQ's job of candidates; the marks of its chunks are fields of it */
  candidateJob: `${CANDIDATES}:`,
} as const

/** Fields of the hash `epoch`. */
export const EPOCH = {
  /** the run of Redis that the epoch began in */
  run: 'run',
  id: 'id',
  previousId: 'prev',
  /** the ledger's time at the latest call of the epoch before, of which all that was written since is lost */
  keptUntil: 'kept',
  /** what began it: why-held.ts */
  why: 'why',
  /** the ledger's time at the latest call */
  now: 'now',
  /** nothing is granted before */
  holdUntil: 'hold',
  /** ms that the ledger's time is ahead of Redis's clock, and a stretch of time that no process has seen pass: clock.lua */
  shift: 'shift',
  doubt: 'doubt',
  /** the share of the time on Redis's clock that has not passed, while that clock is slewed: clock.lua */
  excess: 'excess',
  /** when Redis lost its latest writes, and when every request of then has ended: lib/owed.lua */
  lost: 'lost',
  /** the latest fence handed out */
  fence: 'fence',
  /** ANNOUNCED */
  restartAnnounced: 'planned',
  /** how many partitions there are, or `2>6` while that is being changed */
  partitions: 'of',
  /** number of the change of partitions that may write here; and which change is past its checks */
  change: 'change',
  moving: 'moving',
  /** the least delays of the fleet's configuration, LEAST_DELAY; its version is that of the policies, too */
  leastDelays: 'leastDelays',
  /** the emergency stops in force: lib/stops.lua */
  stops: 'stops',
  /** the policies of sites: lib/site-policy.lua */
  policies: 'policies',
  layout: 'layout',
  /** the latest upgrade from an earlier layout, `3>5` and the instant by Redis's clock, ms */
  upgraded: 'upgraded',
} as const

/**
 * The field `leastDelays`: the version of the configuration, then of each agent its name, its least delay, and when that was changed
 * (lib/owed.lua).
 */
export const LEAST_DELAY = { pattern: ';(%S+) (%d+) ([%d.]+)', format: ';%s %d %s' } as const

/** In the hash `ended`, packed: when the last exchange ended, the delay owed from then on, and the lane whose request it was, '' for its own. */
export const LAST = { format: '<dds' } as const

/**
 * In the hash `policies`: when it was changed, then delay (ms), '1' for consent, visiting hours (from, to, in minutes), requests a day, each
 * '-' where there is none, and the policy as JSON. `dropped` stands for all of that in a site that has a policy no longer.
 */
export const POLICY = {
  pattern: '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$',
  gone: 'gone',
  dropped: 'gone - - - - {}',
} as const

/** In the hash `stops`: the field of the whole record, which no host can be called, and the end of a stop that has none. */
export const STOPS = { record: ':record', never: 'never', forever: FOREVER } as const

/**
 * Fields of the hash of an origin. Those of nearly all origins are stored under one letter, because Redis keeps them for a hundred
 * million origins (docs/scale.md).
 */
export const FIELD = {
  /** state-text.ts; and when it ends, where that is before the hash does */
  robotsState: 's',
  robotsStateEnds: 'robotsStateEnds',
  /** of the rules: rises with each answer that was recorded */
  version: 'v',
  /** '1' while no gate is closed: markChanged in origin.lua ends it */
  allOpen: 'p',
  /** followed by an agent: its delay in ms, and the seconds as written where it was clamped */
  delayOf: 'g:',
  clampedOf: 'w:',
  /** the robots fetch in flight */
  fetchFence: 'fetchFence',
  fetchUntil: 'fetchUntil',
  backOffUntil: 'backOffUntil',
  /** in a row: times that the origin asked for less, and connections that failed */
  incidents: 'incidents',
  failures: 'failures',
  /** set by operators */
  pausedUntil: 'pausedUntil',
  /** in the record of a host's `https:` origin: another scheme or port of the host is paused; and, followed by that origin, until when each is */
  hostPausedUntil: 'hostPausedUntil',
  pauseOf: 'hp:',
  pauseReason: 'pauseReason',
  blockedUntil: 'blockedUntil',
  blockReason: 'blockReason',
  overrideDelay: 'overrideDelay',
  overrideUntil: 'overrideUntil',
  overrideReason: 'overrideReason',
  /** the version at which a new robots fetch was asked for */
  refetchVersion: 'refetchVersion',
  /** not stored: the views show them with the others. The policy of its site, behind the site; and the requests to its host today */
  policy: 'policy',
  requestsToday: 'requestsToday',
} as const

/** Fields of an entry of `operations`. */
export const OPERATION = {
  at: 'at',
  by: 'by',
  action: 'action',
  origin: 'origin',
  value: 'value',
  till: 'until',
  reason: 'reason',
  /** of `forget-reader`, which concerns no origin */
  crawl: 'crawl',
  group: 'group',
} as const

/**
 * Bounds of what is kept for an operator to see later. Of a partition that is at most 10,000 origins × 30 notes of some 300 bytes,
 * 40 reasons × 10 examples, and a ring of 720 samples: about 100 MB where all of it is full.
 */
export const KEPT = {
  /** notes of one origin, origins that have some, and how long they are kept after the latest one, ms */
  notes: 30,
  origins: 10_000,
  notesMs: 259_200_000,
  /** examples of one reason, and how long they are kept after the latest one, ms */
  examples: 10,
  examplesMs: 86_400_000,
  /** samples of the ring, the least time between two of them, and how long it is kept after the latest one, ms */
  samples: 720,
  sampleMs: 30_000,
  ringMs: 86_400_000,
  /** origins that one gate holds, of which the index has those that are held longest */
  closedIndex: 10_000,
} as const

/** A date in a Retry-After counts for no longer than a length may. */
export const RETRY_AFTER = { longestMs: MAX_RETRY_AFTER_MS } as const

/** What a body of a robots.txt takes up in Redis beside its bytes, about: lib/body-budget.lua. */
export const BODY = { besideBytes: 100 } as const

/** The lists of a lane: of the default crawl by their names alone, of another one with '@' and its name behind. */
export const LIST = { normal: 'q', high: 'h' } as const
type Base = (typeof LIST)[keyof typeof LIST]
export type List = Base | `${Base}@${string}`

export const listOf = (priority: 'high' | 'normal' | undefined, crawl = DEFAULT_CRAWL): List => {
  const base = priority === 'high' ? LIST.high : LIST.normal
  return crawl === DEFAULT_CRAWL ? base : `${base}@${crawl}`
}
export const crawlOf = (list: List): string => (list.length > 1 ? list.slice(2) : DEFAULT_CRAWL)
export const priorityOf = (list: List): 'high' | 'normal' => (list.startsWith(LIST.high) ? 'high' : 'normal')
/** Both lists of a crawl, in the order in which they are fetched. */
export const listsOf = (crawl: string): [List, List] => [listOf('high', crawl), listOf('normal', crawl)]

/**
 * Why no lease is left. plain: every one had ended before Redis was stopped, or Redis is known to be new. unknown: it is new, and nobody
 * but who made it knows its address and password yet.
 */
export const ANNOUNCED = { plain: '1', unknown: '2' } as const

/** What `hasHigh` says of the lists beside the one whose first URL stands in the record: there may be URLs of priority high, or of other crawls. */
export const OTHERS = { high: '1', crawls: '2' } as const

/** Its name among the turns of a lane. */
export const CRAWLS = { default: DEFAULT_CRAWL } as const

/** The place in `due` of the first turn in a line. */
export const LINE = { first: -1e11 } as const

/** Fields of what is known of a crawl in one partition. Beside them: how many of its outcomes there were, by kind. */
export const CRAWL = {
  /** JSON: crawls/record.ts */
  record: 'record',
  version: 'version',
  weight: 'weight',
  /** '1': none of its URLs goes out */
  held: 'held',
  /** how many of its URLs this partition may hold, may take in today, and may take in of a host or registrable domain; absent: as many as come */
  stored: 'stored',
  perDay: 'perDay',
  perHost: 'perHost',
  perDomain: 'perDomain',
  /** the latest day, counted from 1970 UTC, on which URLs came in, and how many; counted while `perDay` is set */
  day: 'day',
  today: 'today',
  /** of the bodies of its pages, on the wire */
  bytes: 'bytes',
  /** URLs that were stored, and that have left, since the beginning */
  storedEver: 'parked',
  left: 'left',
} as const

/** What a lease is for; of what leaves with a completion, `candidate` is a redirect's target. */
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

/** A lease, in order: s is a text, d a number, as struct.pack has them. A text that is missing is '', a number 0. */
const LEASE_TYPES = {
  fence: 's',
  list: 's',
  /** KIND; '' of a reservation */
  kind: 's',
  /** failures in a row before it, '' for none */
  failures: 's',
  /** of the rules, when every gate was open at the reservation: start then relies on it */
  version: 's',
  /** of a secondary lease: the lane whose request it is, '' for its own */
  of: 's',
  notBefore: 'd',
  startedAt: 'd',
  delayMs: 'd',
  /** the delay that an operator had set when it was granted; a later one is found when it ends (lib/owed.lua) */
  leastDelayMs: 'd',
  /** from when on the latest request under it may be sent; 0 for the first one of a lane's own */
  requestAt: 'd',
  ends: 'd',
  /** of a secondary lease: how many wait before the lane's own URLs */
  turnsAhead: 'd',
} as const

/** What a lane remembers, in order: a text each, '' when there is none. */
const MEMORY_NAMES = [
  'attempts', // made for the first URL, and the list it is in
  'list',
  'ownDue', //   the lane's own due time, while a gate holds the lane longer; and which gate
  'heldBy',
  'hasHigh', //  OTHERS
] as const
type MemoryName = (typeof MEMORY_NAMES)[number]

/** A list of values that stands in a script as it is. */
export type Verbatim = { lua: string }
function verbatim(values: string[]): Verbatim {
  return { lua: values.join(', ') }
}

export const LEASE = {
  ...places(Object.keys(LEASE_TYPES) as (keyof typeof LEASE_TYPES)[], 1),
  format: `<${Object.values(LEASE_TYPES).join('')}`,
  none: verbatim(Object.values(LEASE_TYPES).map((type) => (type === 's' ? "''" : '0'))),
  /** the names, which LEASE_FIELDS in a script stands for */
  fields: verbatim(Object.keys(LEASE_TYPES)),
}

/** The record of a lane: `|attempts|list|ownDue|heldBy|hasHigh|`, left out when all are '', and its first URL (lane.lua). */
export const MEMORY = {
  ...places(MEMORY_NAMES, 1),
  pattern: `^|${'([^|]*)|'.repeat(MEMORY_NAMES.length)}(.*)$`,
  none: verbatim(MEMORY_NAMES.map(() => "''")),
}

/** What is read of an origin to judge its gates and delays, in order (lib/gates.lua); the delay of the lane's agent comes last. */
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
  /** '' when there is none */
  first: string
  /** more URLs may stand in the list q */
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

/** Names with their places, and how many there are. */
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
  /** what came in by another partition's queue, once it is stored */
  mark: (name: string) => `${tag}:${KEY.mark}${name}`,
})
export type Keys = ReturnType<typeof keysOf>

/** The partitions' tags in order: a list. */
export const PARTITIONS_KEY = 'decorum:partitions'
/** Tags from before the number was lowered: no host lives there any more, but outcomes and candidates may still lie there. */
export const RETIRED_KEY = '{decorum:partitions}:retired'
/** Set when an operator or a command says that this Redis has never held a ledger, so nothing can be on the wire: ANNOUNCED. The first process that opens a ledger drops it. */
export const NEW_KEY = '{decorum:partitions}:new'
/** The lock of a change of partitions, and how many changes have begun. */
export const CHANGE_LOCK_KEY = '{decorum:partitions}:changing'
export const CHANGES_KEY = '{decorum:partitions}:changes'
/** Lives for a minute: a fetcher serves the pages that it keeps at this address (scheme, host, port). */
export const contentKey = (base: string): string => `decorum:content:${base}`

/** The mark of an outbox entry's candidate that was stored, in whichever partition its host lives. */
export const outboxMark = (tag: string, entry: string): string => `outbox:${tagName(tag)}:${entry}`

/** A lane's name in Redis. Agent keys hold no blank, so the first one parts them. */
export const laneName = (agent: string, origin: string): string => `${agent} ${origin}`

export function readLaneName(name: string): { agent: string; origin: string } {
  const blank = name.indexOf(' ')
  return { agent: name.slice(0, blank), origin: name.slice(blank + 1) }
}
