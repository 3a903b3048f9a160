/**
 * The views of a ledger for operators, and their operations. A process that only works for the fleet does not load it. Start at
 * `openLedgerWithViews` (open.ts): its calls are in operator-calls.ts.
 */
export { type FoundPending, LOOKED_AT, OUTCOMES_LOOKED_AT } from './find-candidate.ts'
export { type Intake, type QueueName, targetName } from './intake.ts'
export { type LedgerWithViews, openLedgerWithViews } from './open.ts'
export { sitemapsOf } from './sitemaps.ts'
export {
  type ClosedList,
  INDEXED_GATES,
  type IndexedGate,
  type LaneInOrigin,
  type LaneList,
  type LaneScan,
  type LaneView,
  type Operation,
  type OperationRecord,
  type OriginView,
  type PartitionView,
  type PendingUrl,
  type Sample,
} from './types.ts'
