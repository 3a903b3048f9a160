/** The parts behind the face, for the tests of the changes of a ledger. */
export { holdingChange } from './change-lock.ts'
export type { Migration } from './migration.ts'
export { keyOf } from './move-keys.ts'
export { moveLane } from './move-lane.ts'
export { LUA, lockScripts, moveScripts, upgradeScripts } from './scripts.ts'
