/**
 * What the fleet shares, in Redis: lanes with their URLs and leases, what is known of origins, and outcomes. Start at `openLedger`
 * (ledger.ts); each of its functions is a verb, which is one Lua script in lua/verbs/ and one codec of the same name in verbs/ or
 * admin/. layout.ts names all that is stored, calls.ts all that passes between codecs and scripts.
 */
export {
  type Repartitioned,
  type RepartitionOptions,
  type RepartitionProgress,
  repartition,
} from './admin/repartition.ts'
export { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
export { announceNew, checkOneServer, readTags } from './fit.ts'
export { keysOf, outboxMark, PARTITIONS_KEY } from './layout.ts'
export { type Ledger, type OutboxEntry, openLedger } from './ledger.ts'
export { another, connectLink, type LinkOptions, linkTo, type RedisLink } from './link.ts'
export { makeGroup } from './outcomes.ts'
export type { LedgerOptions } from './settings.ts'
export { thatAnswer } from './that-answer.ts'
export type {
  CompleteResult,
  Completion,
  Confirmation,
  Entry,
  HeldLane,
  LaneInOrigin,
  LaneList,
  LaneRef,
  LaneView,
  LearnResult,
  Operation,
  OperationRecord,
  OriginView,
  Parked,
  ParkItem,
  ParkMark,
  ParkResult,
  PartitionView,
  Reaped,
  ReservedLane,
  ReserveRequest,
  ReserveResult,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  SiteLoad,
  StartAnswer,
  StartRequest,
} from './types.ts'
export { MAX_ITEMS } from './verbs/batch.ts'
export type { Member } from './verbs/fleet.ts'
