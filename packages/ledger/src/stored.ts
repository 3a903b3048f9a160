/**
 * The stored form of a ledger and what runs scripts on it, for the packages that look into a ledger (ledger-views) or change all of it
 * (ledger-move). What a process of the fleet needs is in index.ts.
 */
export { type Arg, row } from './calls.ts'
export { readRecord } from './crawls/record.ts'
export * from './layout.ts'
export * from './layout-moves.ts'
export { type Library, libraryOf, type Script } from './lua-library.ts'
export { carryGroups } from './outcomes.ts'
export { listsIn } from './records/lane-lists.ts'
export { decodeIn, idSlot } from './records/pending-text.ts'
export { readState } from './records/state-text.ts'
export { LEDGER_LUA } from './script-text.ts'
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
