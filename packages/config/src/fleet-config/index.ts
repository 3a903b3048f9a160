/**
 * The settings on which the whole fleet must agree: one versioned document in Redis (docs/configuration.md). Role processes start at
 * `startJoined`, commands at `agree`; `write` changes the document and `readHistory` lists its changes.
 */
export { aboutThisProcess, BUILD, VERSION } from './about.ts'
export { type Agreement, agree, connectForConfig } from './agree.ts'
export { readBuild } from './build.ts'
export { type Following, POLL_MS, readLatest } from './follow.ts'
export { type Joined, startJoined } from './join.ts'
export { openFleetLedger } from './ledger.ts'
export { ratesOf } from './rates.ts'
export { OvertakenError, readCurrent, readHistory, type Version, write } from './store.ts'
