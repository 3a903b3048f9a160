/** What the fleet shares, in Redis: lanes, origins, outcomes, epoch. Start at `openLedger`. */
export { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
export { announceNew, checkOneServer, readTags } from './fit.ts'
export { keysOf, outboxMark, PARTITIONS_KEY } from './keys.ts'
export { MAX_ITEMS } from './lanes.ts'
export { type Ledger, type LedgerOptions, type Member, type OutboxEntry, openLedger } from './ledger.ts'
export { another, connectLink, type LinkOptions, linkTo, type RedisLink } from './link.ts'
export { makeGroup } from './outcomes.ts'
export { type Repartitioned, type RepartitionOptions, type RepartitionProgress, repartition } from './repartition.ts'
export type { ReserveRequest } from './reserve.ts'
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
  ReserveResult,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  SiteLoad,
  StartAnswer,
  StartRequest,
} from './types.ts'
