/**
 * The stored form of a ledger and the functions that run scripts on it, for changes of a whole ledger (move/). Processes of the fleet use
 * index.ts.
 */
export { type Arg, EVERY_CALL, row } from './calls.ts'
export { sharesOf } from './crawls/limits.ts'
export { readRecord } from './crawls/record.ts'
export * from './layout.ts'
export * from './layout-moves.ts'
export type { Partitions } from './ledger/partitions.ts'
export { type MoreCalls, openLedgerWith } from './ledger.ts'
export { type Library, libraryOf, type Script, whenFull } from './lua-library.ts'
export type { Note, Notes } from './notes.ts'
export { carryGroups } from './outcomes.ts'
export { firstUrlsOf, isEmpty, lastOf, listsIn, placeOf } from './records/lane-lists.ts'
export { decodeIn, idSlot } from './records/pending-text.ts'
export { readState, withRobotsFetch } from './records/state-text.ts'
export { finished, LEDGER_LUA } from './script-text.ts'
export {
  answersOf,
  argsInOrder,
  defineScripts,
  defineVerbs,
  type Reply,
  type Scripts,
  scriptsOf,
  valuesOf,
} from './scripts.ts'
export type { SitePolicyView } from './types.ts'
export type { Verbs } from './verbs.ts'
