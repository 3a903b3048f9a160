/** The scripts of the verbs: each with the parts that it includes, and with the names of layout.ts and calls.ts replaced. */
import * as calls from './calls.ts'
import { ARGS, EVERY_CALL, type Verb } from './calls.ts'
import { GATES, type GateTable, gateFunctions, readersOf, refuseOtherReaders } from './gate-text.ts'
import {
  ANNOUNCED,
  BODY,
  CRAWL,
  CRAWLS,
  EPOCH,
  FACTS,
  FIELD,
  GATE,
  KEPT,
  KEY,
  KIND,
  LAST,
  LAYOUT,
  LEASE,
  LEAST_DELAY,
  LINE,
  LIST,
  MEMORY,
  OPERATION,
  OTHERS,
  POLICY,
  RETRY_AFTER,
  STOPS,
} from './layout.ts'
import { LIFE, lifeFunctions } from './lease-life.ts'
import { type Constants, libraryOf, whenFull, withConstants } from './lua-library.ts'

const { SINGLE, GROUP, URL_ITEM, OUTCOME_ITEM, START_ITEM, CONFIRM_ITEM, COMPLETION, DONE, OVER, RESOLUTION, LEAVING } =
  calls
const { DELAY_ITEM, LEAST_DELAY_ITEM, REPLY, FACT, CLOSED_FACT, START_ANSWER, REAPED_FETCH } = calls
const { RESTORE_ITEM, CANCEL_ITEM, GRANT_ITEM, GRANTED, GRANT_WAIT, STOP_ITEM, POLICY_ITEM, NOTE_ITEM } = calls
const parts = {
  ...{ SINGLE, GROUP, URL_ITEM, OUTCOME_ITEM, START_ITEM, CONFIRM_ITEM, COMPLETION, DONE, OVER, RESOLUTION, LEAVING },
  ...{ DELAY_ITEM, LEAST_DELAY_ITEM, REPLY, FACT, CLOSED_FACT, START_ANSWER, REAPED_FETCH },
  ...{ RESTORE_ITEM, CANCEL_ITEM, GRANT_ITEM, GRANTED, GRANT_WAIT, STOP_ITEM, POLICY_ITEM, NOTE_ITEM },
}
const CONSTANTS: Constants = {
  ...{ LAYOUT, KEY, KEPT, EPOCH, LEAST_DELAY, FIELD, OPERATION, LIST, KIND, GATE, LEASE, MEMORY },
  ...{ FACTS, GATES, LIFE, LAST },
  ...{ STOPS, POLICY, CRAWL, CRAWLS, LINE, OTHERS, ANNOUNCED, BODY, RETRY_AFTER },
  ...Object.fromEntries(Object.entries(parts).map(([name, { at }]) => [name, at])),
}

/** Stands for `--- @gates` (lua/lib/gates.lua) until the functions made from the table of gates replace it. */
const GATES_PLACE = "'gates'"

export const LEDGER_LUA = libraryOf({
  folder: new URL('./lua/', import.meta.url),
  constants: CONSTANTS,
  prepare(file, text) {
    refuseOtherReaders(file, text)
    return text.replace(/^--- @gates$/m, GATES_PLACE).replace(/^--- @life$/m, lifeFunctions())
  },
})

/** @param file  below lua/, such as `lib/clock` */
export const readPart = LEDGER_LUA.read

/**
 * @param read   tests only: replaces a part
 * @param table  tests only: replaces the table of gates
 * @throws Error  with the file, for an unknown name, or for a gate's field that it reads outside of lib/gates
 */
export function scriptText(verb: Verb, read = readPart, table?: GateTable): string {
  if (read !== readPart || table !== undefined) return textAnew(verb, read, table)
  const text = texts.get(verb) ?? textAnew(verb, read, table)
  texts.set(verb, text)
  return text
}

/** A cache: a process may open several ledgers. */
const texts = new Map<Verb, string>()

function textAnew(verb: Verb, read: typeof readPart, table: GateTable | undefined): string {
  // Fetching frees memory, so all its scripts also run in a full Redis: memory.ts decides what is refused before.
  return whenFull(finished(LEDGER_LUA.text(`verbs/${verb}`, [...EVERY_CALL, ...ARGS[verb]], read), read, table))
}

/** A script with the functions made from the table of gates, and without functions that it does not use. */
export const finished = (script: string, read = readPart, table?: GateTable): string =>
  closed(withoutUnused(script.includes(GATES_PLACE) ? withGates(script, read(GATES_PART), table) : script))

/** Closes the function that lua/lib/epoch.lua opens around the rest of the script. */
const closed = (script: string): string => (/^return \(function\(\)$/m.test(script) ? `${script}\nend)()` : script)

/** `local function name(…)` at the beginning of a line, up to its `end`: on that line, or alone on a later one. */
const FUNCTION = /^local function (\w+)\((?:.*\bend[ \t]*$|.*(?:\n(?!end[ \t]*$).*)*\nend[ \t]*$)/gm
const WORD = /[A-Za-z_]\w*/g
/** Returns the names in a text. Most functions stand unchanged in many scripts, so each text is read once. */
function wordsIn(text: string): ReadonlySet<string> {
  const words = wordsOf.get(text) ?? new Set(text.match(WORD))
  wordsOf.set(text, words)
  return words
}
const wordsOf = new Map<string, ReadonlySet<string>>()

/** Removes functions that a script does not use: Lua allows 200 locals, and parts are shared by many verbs. */
function withoutUnused(script: string): string {
  const functions = [...script.matchAll(FUNCTION)].map(([text, name = '']) => ({ text, name }))
  const used = new Set(script.replace(FUNCTION, '').match(WORD))
  const unused = new Set<string>()
  // A Lua function uses only names that stand before it.
  for (const { text, name } of functions.toReversed())
    if (!used.has(name)) unused.add(name)
    else for (const word of wordsIn(text)) used.add(word)
  return unused.size === 0 ? script : script.replace(FUNCTION, (text, name: string) => (unused.has(name) ? '' : text))
}

const GATES_PART = 'lib/gates'
function withGates(script: string, part: string, table: GateTable | undefined): string {
  const readers = readersOf(withConstants(part, CONSTANTS, GATES_PART))
  return script.replace(GATES_PLACE, () => gateFunctions(script, readers, table))
}
