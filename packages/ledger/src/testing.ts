/** Internal parts, for the ledger's own tests and benches: records, scripts and verbs of one partition. */
export {
  ACQUIRED,
  ARGS,
  COMPLETION,
  CONFIRM_ITEM,
  GRANT_ITEM,
  GRANT_WAIT,
  GRANTED,
  LEAVING,
  OVER,
  RESOLUTION,
  START_ANSWER,
  START_ITEM,
  VERBS,
  type Verb,
} from './calls.ts'
export { emptySinceMs } from './fit.ts'
export * from './lease-life.ts'
export { trimOutcomes } from './outcomes.ts'
export { readPending, writePending } from './records/pending-text.ts'
export { writeState } from './records/state-text.ts'
export { readBody, writeBody } from './records/stored-body.ts'
export { clockRate, redisClock } from './redis-clock.ts'
export { readPart, scriptText } from './script-text.ts'
export { type VerbSettings, verbSettings } from './settings.ts'
export { nameOfAddress, namesAbove } from './stops/names.ts'
export { withoutStops, withStops } from './stops/record.ts'
export * from './stored.ts'
export { batched } from './verbs/batch.ts'
export { confirm } from './verbs/confirm.ts'
export { verbsOf } from './verbs.ts'
export { followWakes } from './wakes.ts'
