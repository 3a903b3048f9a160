/**
 * The views of a ledger for operators, and their operations. Gateways, fetchers and permits do not load it. Start at
 * `openLedgerWithViews` (open.ts): its calls are in operator-calls.ts.
 */
export { type FoundPending, SEARCHED_OUTCOMES, SEARCHED_URLS } from './find-candidate.ts'
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
