/**
 * The state that the fleet shares, in Redis: lanes with their URLs and leases, facts about origins, and outcomes. Start at `openLedger`
 * (ledger.ts); its functions are in ledger/. Every change of a lane or an origin is a verb: one Lua script in lua/verbs/ and one codec of
 * the same name in verbs/. layout.ts names everything that is stored, calls.ts everything that codecs and scripts exchange.
 */

export type { CrawlBook } from './crawls/book.ts'
export type { Crawl } from './crawls/list.ts'
export {
  type Changing,
  type CrawlChange,
  CrawlError,
  type CrawlLimits,
  type CrawlRecord,
  type CrawlSettings,
  type CrawlState,
  endingOf,
  MOST_CRAWLS,
  MOST_WEIGHT,
  USUAL,
} from './crawls/record.ts'
export { isBeyondShare, type StoredUrls, shareToCome, storedUrls } from './crawls/shares.ts'
export { type EndingLeases, endLeases } from './end-leases.ts'
export { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
export { checkOneServer, checkRedis, OLDEST_REDIS } from './fit.ts'
export { infoField } from './info.ts'
export {
  contentKey,
  GATE as LEDGER_GATES,
  keysOf,
  LAYOUT_VERSION,
  listOf,
  outboxMark,
  PARTITIONS_KEY,
} from './layout.ts'
export type { OutboxEntry } from './ledger/journey.ts'
export { type Ledger, openLedger } from './ledger.ts'
export {
  addressOf,
  another,
  connectLink,
  type LinkOptions,
  linkTo,
  mastersOf,
  placesOf,
  type RedisLink,
} from './link.ts'
export { libraryOf } from './lua-library.ts'
export { HEADROOM, memoryOf, outcomesAllowed, type RedisMemory } from './memory.ts'
export { countedAs, NOTED_CHARS, type Note, type NotedExchange, TOOK_AT_MOST, toleratedIn } from './notes.ts'
export { makeGroup } from './outcomes.ts'
export type { PoolLists } from './pools.ts'
export { reachRedis } from './reach.ts'
export {
  type Consumer,
  type Forgetting,
  type Forgotten,
  forgetReader,
  isRead,
  READER_DEAD_AFTER_MS,
  READERS_SHOWN,
  type Reader,
  readerInTheWay,
  readersOf,
} from './readers.ts'
export { keeperOf } from './record/keeper.ts'
export type { Place, Written } from './record/place.ts'
export { ratesVersion } from './record/rates.ts'
export { announceNew, readTags } from './record/tags.ts'
export { whyRefused } from './refusal.ts'
export { withDeadline } from './scripts.ts'
export { type LedgerOptions, LONGEST_BACK_OFF_MS } from './settings.ts'
export { readStopName } from './stops/names.ts'
export {
  EVERYTHING,
  isInForce,
  MOST_STOPS,
  nameForPeople,
  type Stop,
  StopError,
  type StopRecord,
  stopsInForce,
} from './stops/record.ts'
export { thatAnswer } from './that-answer.ts'
export type {
  AcquireAnswer,
  Cancelled,
  ClaimAnswer,
  ClaimRequest,
  CompleteResult,
  Completion,
  Confirmation,
  CrawlHeld,
  ExtendAnswer,
  GrantAnswer,
  GrantRequest,
  LaneRef,
  LeasedLane,
  LedgerGateName,
  NextAnswer,
  NextRequest,
  NextTurn,
  Pending,
  Reaped,
  RecordResult,
  ReservedLane,
  ReserveRequest,
  ReserveResult,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  SiteLoad,
  SitePolicyRecord,
  StartAnswer,
  StartRequest,
  StoreItem,
  StoreMark,
  StoreResult,
} from './types.ts'
export { MAX_ITEMS } from './verbs/batch.ts'
export { type About, type Member, type Passing, type PoolDemand, passingText } from './verbs/fleet.ts'
export type { Rates } from './verbs/rates.ts'
