/**
 * How each stored key and field moves when the number of partitions changes. Hosts move to their new partition together with everything
 * that holds them back or was counted for them. Each key of the layout, and each field of its records, has an entry here; without it the
 * code does not compile. packages/ledger/src/move carries the moves out.
 */
import type { CRAWL, EPOCH, FIELD, KEY, MEMORY } from './layout.ts'

/** The kind of name that an entry of a key, or the text behind its colon, is: the partition of that lane, origin or host holds it. */
export type Owner = 'lane' | 'origin' | 'host'

export type KeyMove =
  /** moves with a lane or an origin, in the same step: move-lane.ts, move-origin.ts */
  | { with: 'lane' | 'origin' }
  /** the key belongs to one lane or origin, which is named behind it, and moves unchanged, with its remaining time to live */
  | { key: 'lane' | 'origin' }
  /**
   * entries of a hash, set or sorted set, each named after its owner; `instants`: scores on the ledger's clock, or values of a hash that
   * begin with such an instant, packed
   */
  | { entries: Owner; in: 'hash' | 'set' | 'zset'; instants?: true }
  /** has the same content in every partition: new partitions get it before they are opened */
  | { everywhere: string }
  /** only the sum over all partitions counts: the first partition adds the number of one that retires */
  | { sum: string }
  /** each field has its own entry, below */
  | { fields: 'epoch' | 'crawl' }
  /** is dropped: it does not count once the fleet stands still; the text says why */
  | { ends: string }
  /** belongs to the partition, not to its hosts; the text says why */
  | { stays: string }

const LANE = { with: 'lane' } as const
const LEASES_END = { ends: 'every lease has ended before hosts move' } as const

export const KEY_MOVES = {
  epoch: { fields: 'epoch' },
  partitions: { stays: 'it is never stored' },
  due: LANE,
  line: { stays: 'the order of the due lanes of a partition; those that leave it are due, without a place in line' },
  lined: { stays: 'it belongs to the line' },
  inFlight: LEASES_END,
  slotless: LEASES_END,
  queues: { ends: 'those that wait are processes, and none runs; what their lanes remember goes along' },
  leases: LEASES_END,
  /** moved by name and not with the lane, because a delay also runs in a lane without URLs */
  ended: { entries: 'lane', in: 'hash', instants: true },
  lanes: LANE,
  normal: LANE,
  high: LANE,
  turns: LANE,
  permitTurns: { key: 'lane' },
  crawls: { everywhere: 'with the records' },
  crawl: { fields: 'crawl' },
  forgotten: { stays: 'what was forgotten is read from all partitions together, and the first one never retires' },
  lanesOf: LANE,
  /** a domain ('@…') counts in all partitions, including retired ones, so its entries stay */
  hostsOf: { entries: 'host', in: 'hash' },
  origin: { with: 'origin' },
  changed: { ends: 'only a reservation relies on it' },
  ids: LANE,
  mark: { stays: 'a job of candidates stays in its queue, and none is half way in' },
  body: { with: 'origin' },
  spent: { stays: 'it ends by itself; a body that goes along is spent again where it comes' },
  spentBeyond: { stays: 'it ends by itself' },
  spentUnclaimed: { stays: 'it ends by itself' },
  outcomes: { stays: 'readers read the streams of all partitions, retired ones too' },
  outbox: { stays: 'gateways empty those of all partitions, retired ones too' },
  later: { stays: 'gateways put them into the outbox of their partition, of retired ones too' },
  operations: { stays: 'a log in the order of its partition; what an operation has set is in the origin' },
  stops: { everywhere: 'with EPOCH.stops' },
  policies: { everywhere: 'with EPOCH.policies' },
  requests: { entries: 'host', in: 'hash' },
  heldByPolicy: { entries: 'lane', in: 'set' },
  waking: { entries: 'lane', in: 'set' },
  counts: { sum: 'since the beginning; those of URLs go along with their lanes' },
  fleet: { ends: 'none runs' },
  hopTurn: { stays: 'it ends by itself, and where its host comes, the next redirect may be followed at once' },
  pool: { ends: 'an order cannot be started when its reservation has ended' },
  wake: { stays: 'it is a channel' },
  notes: { key: 'origin' },
  noted: { entries: 'origin', in: 'zset', instants: true },
  examples: { stays: 'examples of a partition, for a day' },
  ring: { stays: 'samples of a partition, for a day' },
  closedIndex: { entries: 'origin', in: 'zset', instants: true },
  moved: { ends: 'with the change that made it' },
  candidateJob: { stays: 'a queue keeps its partition; gateways take in by retired ones, too' },
} as const satisfies Record<keyof typeof KEY, KeyMove>

export type EpochMove =
  /** the latest version is set in every partition before it opens */
  | 'everywhere'
  /** the latest instant of all partitions, because lanes of any of them may move here */
  | 'latest'
  /** the highest number of all partitions */
  | 'highest'
  /** the change of partitions writes this field */
  | 'change'
  /** belongs to one partition and its Redis */
  | 'stays'

export const EPOCH_MOVES = {
  run: 'stays',
  id: 'stays',
  previousId: 'stays',
  keptUntil: 'stays',
  why: 'stays',
  now: 'stays',
  /** the change waits until the hold has ended before hosts move */
  holdUntil: 'stays',
  /** instants that move are converted to the time of their new partition: server-clocks.ts */
  shift: 'stays',
  doubt: 'stays',
  /** describes one server's clock for a minute: processes measure it again */
  excess: 'stays',
  lost: 'latest',
  fence: 'highest',
  restartAnnounced: 'change',
  partitions: 'change',
  change: 'change',
  moving: 'change',
  leastDelays: 'everywhere',
  stops: 'everywhere',
  policies: 'everywhere',
  layout: 'stays',
  upgraded: 'stays',
} as const satisfies Record<keyof typeof EPOCH, EpochMove>

export type CrawlMove =
  /** part of the record: the latest version is set in every partition before it opens */
  | 'everywhere'
  /** a partition's share of a limit: the limit is divided among the new partitions */
  | 'share'
  /** only the sum over all partitions counts: the first partition adds the number of one that retires */
  | 'sum'
  /** a day and its count: only the counts of the latest day are summed */
  | 'day'

/** Counts of outcomes by kind have no name in CRAWL; they are summed. */
export const CRAWL_MOVES = {
  record: 'everywhere',
  version: 'everywhere',
  weight: 'everywhere',
  held: 'everywhere',
  perHost: 'everywhere',
  perDomain: 'everywhere',
  stored: 'share',
  perDay: 'share',
  day: 'day',
  today: 'day',
  bytes: 'sum',
  /** the pending URLs of the crawl have already moved with their lanes */
  storedEver: 'sum',
  left: 'sum',
} as const satisfies Record<keyof typeof CRAWL, CrawlMove>

/** Whether a field of an origin, or (below) of the memory of a lane, is an instant on the clock of its partition. */
export const ORIGIN_INSTANTS = {
  robotsState: false,
  robotsStateEnds: true,
  version: false,
  allOpen: false,
  delayOf: false,
  clampedOf: false,
  fetchFence: false,
  fetchUntil: true,
  backOffUntil: true,
  incidents: false,
  failures: false,
  pausedUntil: true,
  hostPausedUntil: true,
  pauseOf: false,
  pauseReason: false,
  blockedUntil: true,
  blockReason: false,
  overrideDelay: false,
  overrideUntil: true,
  overrideReason: false,
  refetchVersion: false,
  policy: false,
  requestsToday: false,
} as const satisfies Record<keyof typeof FIELD, boolean>

export const MEMORY_INSTANTS = {
  attempts: false,
  list: false,
  ownDue: true,
  heldBy: false,
  hasHigh: false,
} as const satisfies Record<Exclude<keyof typeof MEMORY, 'size' | 'pattern' | 'none'>, boolean>
