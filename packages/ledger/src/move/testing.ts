/** Internal parts, for the tests of the changes of a ledger. */
export { holdingChange } from './change-lock.ts'
export { moveLane } from './move-lane.ts'
