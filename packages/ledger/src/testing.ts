/** Internal parts, for the ledger's own tests and benches: records, scripts and verbs of one partition. */
export {
  ACQUIRED,
  ARGS,
  CANCEL_ITEM,
  COMPLETION,
  CONFIRM_ITEM,
  DELAY_ITEM,
  FACT,
  GRANT_ITEM,
  GRANT_WAIT,
  GRANTED,
  LEAST_DELAY_ITEM,
  LEAVING,
  OVER,
  POLICY_ITEM,
  RESOLUTION,
  START_ANSWER,
  START_ITEM,
  VERBS,
  type Verb,
} from './calls.ts'
export { emptySinceMs } from './fit.ts'
export * from './lease-life.ts'
export { trimOutcomes } from './outcomes.ts'
export { isSameUrl, readPending, writePending } from './records/pending-text.ts'
export { writeState } from './records/state-text.ts'
export { readBody, writeBody } from './records/stored-body.ts'
export { type Closings, closingsOf } from './record/closings.ts'
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
