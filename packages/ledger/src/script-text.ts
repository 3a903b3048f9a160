/** The scripts of the verbs: each with the parts that it includes, and the names of layout.ts and calls.ts in it. */
import * as calls from './calls.ts'
import { ARGS, EVERY_CALL, type Verb } from './calls.ts'
import {
  ANNOUNCED,
  BODY,
  CRAWL,
  CRAWLS,
  EPOCH,
  FIELD,
  GATE,
  KEPT,
  KEY,
  KIND,
  LAYOUT,
  LEASE,
  LEAST_DELAY,
  LIST,
  MEMORY,
  OPERATION,
  OTHERS,
  POLICY,
  STOPS,
} from './layout.ts'
import { type Constants, libraryOf, whenFull } from './lua-library.ts'

const { SINGLE, GROUP, URL_ITEM, OUTCOME_ITEM, START_ITEM, CONFIRM_ITEM, COMPLETION, DONE, OVER, RESOLUTION, LEAVING } =
  calls
const { DELAY_ITEM, LEAST_DELAY_ITEM, REPLY, FACT, CLOSED_FACT, START_ANSWER, REAPED_FETCH } = calls
const { RESTORE_ITEM, CANCEL_ITEM, GRANT_ITEM, EXTEND_ITEM, GRANTED, GRANT_WAIT, STOP_ITEM, POLICY_ITEM, NOTE_ITEM } =
  calls
const parts = {
  ...{ SINGLE, GROUP, URL_ITEM, OUTCOME_ITEM, START_ITEM, CONFIRM_ITEM, COMPLETION, DONE, OVER, RESOLUTION, LEAVING },
  ...{ DELAY_ITEM, LEAST_DELAY_ITEM, REPLY, FACT, CLOSED_FACT, START_ANSWER, REAPED_FETCH },
  ...{ RESTORE_ITEM, CANCEL_ITEM, GRANT_ITEM, EXTEND_ITEM, GRANTED, GRANT_WAIT, STOP_ITEM, POLICY_ITEM, NOTE_ITEM },
}
const CONSTANTS: Constants = {
  ...{ LAYOUT, KEY, KEPT, EPOCH, LEAST_DELAY, FIELD, OPERATION, LIST, KIND, GATE, LEASE, MEMORY },
  ...{ STOPS, POLICY, CRAWL, CRAWLS, OTHERS, ANNOUNCED, BODY },
  ...Object.fromEntries(Object.entries(parts).map(([name, { at }]) => [name, at])),
}

export const LEDGER_LUA = libraryOf({ folder: new URL('./lua/', import.meta.url), constants: CONSTANTS })

/** Verbs that store or grant something: a Redis that has reached its maxmemory refuses them. */
const REFUSED_WHEN_FULL: ReadonlySet<Verb> = new Set(['store', 'reserve', 'start', 'acquire', 'grant', 'claim'])

/** @param file  below lua/, such as `lib/clock` */
export const readPart = LEDGER_LUA.read

/**
 * @param read  tests only: a part as it is to be
 * @throws Error  naming the file, for a name that layout.ts and calls.ts do not have
 */
export function scriptText(verb: Verb, read?: (file: string) => string): string {
  const text = LEDGER_LUA.text(`verbs/${verb}`, [...EVERY_CALL, ...ARGS[verb]], read)
  return REFUSED_WHEN_FULL.has(verb) ? text : whenFull(text)
}
