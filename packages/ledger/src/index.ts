/** What the fleet shares, in Redis: lanes, origins, outcomes, epoch. Start at `openLedger`. */
export { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
export { announceNew, checkOneServer, readTags } from './fit.ts'
export { type Gap, gapAfter, gapFor, tokensOf } from './gap.ts'
export { keysOf, outboxMark, PARTITIONS_KEY } from './keys.ts'
export { MAX_ITEMS } from './lanes.ts'
export { type Ledger, type LedgerOptions, type Member, type OutboxEntry, openLedger } from './ledger.ts'
export { another, connectLink, type LinkOptions, linkTo, type RedisLink } from './link.ts'
export { makeGroup } from './outcomes.ts'
export { type Repartitioned, type RepartitionOptions, type RepartitionProgress, repartition } from './repartition.ts'
export type { TakeRequest } from './take.ts'
export { thatAnswer } from './that-answer.ts'
export type {
  BeginRequest,
  Confirmation,
  EnterRequest,
  Entry,
  HeldLane,
  LaneInOrigin,
  LaneList,
  LaneRef,
  LaneView,
  LearnResult,
  Lesson,
  Mood,
  Operation,
  OperationRecord,
  OriginView,
  Parked,
  ParkItem,
  ParkMark,
  ParkResult,
  PartitionView,
  Permit,
  Reaped,
  Resolution,
  RobotsFetchEnd,
  Settlement,
  SettleResult,
  TakenLane,
  TakeResult,
} from './types.ts'
