/** What the fleet shares, in Redis: lanes, origins, outcomes, epoch. Start at `openLedger`. */
export { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
export { announceNew, checkOneServer, readTags } from './fit.ts'
export { type Delay, delayAfter, effectiveDelay, tokensOf } from './delay.ts'
export { keysOf, outboxMark, PARTITIONS_KEY } from './keys.ts'
export { MAX_ITEMS } from './lanes.ts'
export { type Ledger, type LedgerOptions, type Member, type OutboxEntry, openLedger } from './ledger.ts'
export { another, connectLink, type LinkOptions, linkTo, type RedisLink } from './link.ts'
export { makeGroup } from './outcomes.ts'
export { type Repartitioned, type RepartitionOptions, type RepartitionProgress, repartition } from './repartition.ts'
export type { ReserveRequest } from './reserve.ts'
export { thatAnswer } from './that-answer.ts'
export type {
  StartRequest,
  Confirmation,
  SecondaryRequest,
  Entry,
  HeldLane,
  LaneInOrigin,
  LaneList,
  LaneRef,
  LaneView,
  LearnResult,
  RobotsRecord,
  SiteLoad,
  Operation,
  OperationRecord,
  OriginView,
  Parked,
  ParkItem,
  ParkMark,
  ParkResult,
  PartitionView,
  StartAnswer,
  Reaped,
  Resolution,
  RobotsFetchEnd,
  Completion,
  CompleteResult,
  ReservedLane,
  ReserveResult,
} from './types.ts'
