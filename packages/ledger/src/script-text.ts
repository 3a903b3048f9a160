/** The text of a script: its verb with the parts that it includes, and the names of layout.ts and calls.ts replaced by what they stand for. */
import { readFileSync } from 'node:fs'
import * as calls from './calls.ts'
import { ARGS, EVERY_CALL, type Verb } from './calls.ts'
import {
  ANNOUNCED,
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
  places,
  STOPS,
  type Verbatim,
} from './layout.ts'

type Constants = Record<string, Record<string, string | number | Verbatim>>

const { SINGLE, GROUP, URL_ITEM, OUTCOME_ITEM, START_ITEM, CONFIRM_ITEM, COMPLETION, DONE, OVER, RESOLUTION, LEAVING } =
  calls
const { DELAY_ITEM, LEAST_DELAY_ITEM, REPLY, FACT, CLOSED_FACT, START_ANSWER, REAPED_FETCH, LANE_ROW, PARTITION_ROW } =
  calls
const { RESTORE_ITEM, CANCEL_ITEM, GRANT_ITEM, EXTEND_ITEM, GRANTED, GRANT_WAIT, STOP_ITEM, POLICY_ITEM, NOTE_ITEM } =
  calls
const parts = {
  ...{ SINGLE, GROUP, URL_ITEM, OUTCOME_ITEM, START_ITEM, CONFIRM_ITEM, COMPLETION, DONE, OVER, RESOLUTION, LEAVING },
  ...{ DELAY_ITEM, LEAST_DELAY_ITEM, REPLY, FACT, CLOSED_FACT, START_ANSWER, REAPED_FETCH, LANE_ROW, PARTITION_ROW },
  ...{ RESTORE_ITEM, CANCEL_ITEM, GRANT_ITEM, EXTEND_ITEM, GRANTED, GRANT_WAIT, STOP_ITEM, POLICY_ITEM, NOTE_ITEM },
}
const CONSTANTS: Constants = {
  ...{ LAYOUT, KEY, KEPT, EPOCH, LEAST_DELAY, FIELD, OPERATION, LIST, KIND, GATE, LEASE, MEMORY },
  ...{ STOPS, POLICY, CRAWL, CRAWLS, OTHERS, ANNOUNCED },
  ...Object.fromEntries(Object.entries(parts).map(([name, { at }]) => [name, at])),
}

/** Places of the arguments of a verb in ARGV, and `items`, the place of what follows them. */
function argumentsOf(verb: Verb): Record<string, number> {
  const names = [...EVERY_CALL, ...ARGS[verb]]
  return { ...places(names, 1), items: names.length + 1 }
}

/** Verbs that store or grant something: a Redis that has reached its maxmemory refuses them. */
const REFUSED_WHEN_FULL: ReadonlySet<Verb> = new Set(['store', 'reserve', 'start', 'acquire', 'grant', 'claim'])
/**
 * First line of all others: leases must be able to end in a full Redis too, or their requests would be made again; and an operator
 * must still be able to look and pause. The slots of the fleet bound how much that writes beyond maxmemory.
 */
export const ALLOWED_WHEN_FULL = '#!lua flags=allow-oom'

/** @param file  below lua/, such as `lib/clock` */
export function readPart(file: string): string {
  const text = texts.get(file) ?? readFileSync(new URL(`./lua/${file}.lua`, import.meta.url), 'utf8')
  texts.set(file, text)
  return text
}
/** Verbs share most of their parts, and every process that starts makes all scripts: each file is read and taken apart once. */
const texts = new Map<string, string>()

/**
 * @param read  tests only: a part as it is to be
 * @throws Error  naming the file, for a name that layout.ts and calls.ts do not have
 */
export function scriptText(verb: Verb, read: (file: string) => string = readPart): string {
  const constants = { ...CONSTANTS, ARG: argumentsOf(verb) }
  const included = new Set<string>()
  const include = (file: string): string[] => {
    if (included.has(file)) return []
    included.add(file)
    return piecesOf(file, read(file)).flatMap((piece) => {
      if (typeof piece === 'string') return piece
      return 'include' in piece ? include(piece.include) : withConstants(piece.own, constants, file)
    })
  }
  const text = include(`verbs/${verb}`).join('\n')
  return REFUSED_WHEN_FULL.has(verb) ? text : `${ALLOWED_WHEN_FULL}\n${text}`
}

/** The text of a script that is no verb and shares no parts, below lua/: it reads neither the epoch nor the time. */
export function plainScript(file: string): string {
  const lines = readPart(file).replace(BLOCK_COMMENT, '').split('\n')
  return [ALLOWED_WHEN_FULL, ...lines.map((line) => withConstants(line, CONSTANTS, file))].join('\n')
}

/** Code as every verb has it; code that names places of arguments, which differ from verb to verb; or another part that stands here. */
type Piece = string | { own: string } | { include: string }

/** A part without its comments, and with the names in it replaced, but for those that differ from verb to verb. */
function piecesOf(file: string, text: string): readonly Piece[] {
  const known = taken.get(text)
  if (known !== undefined) return known
  const pieces: Piece[] = []
  for (const line of text.replace(BLOCK_COMMENT, '').split('\n')) {
    const part = INCLUDE.exec(line)?.[1]
    const code = line.replace(LINE_COMMENT, '')
    const before = pieces.at(-1)
    if (part !== undefined) pieces.push({ include: part })
    else if (code.includes('ARG.')) pieces.push({ own: code })
    else if (code.trim() === '') continue
    else if (typeof before === 'string') pieces[pieces.length - 1] = `${before}\n${code}`
    else pieces.push(code)
  }
  const done = pieces.map((piece) => (typeof piece === 'string' ? withConstants(piece, CONSTANTS, file) : piece))
  taken.set(text, done)
  return done
}
/** Text of a part → its pieces. */
const taken = new Map<string, readonly Piece[]>()

const INCLUDE = /^--- @include "([\w/-]+)"$/
/** No text in the scripts holds two hyphens. */
const BLOCK_COMMENT = /--\[\[[\s\S]*?\]\]/g
const LINE_COMMENT = /--.*$/

/** A name such as `KEY.due`. */
const NAME = /\b([A-Z][A-Z_]+)\.([a-z]\w*)\b/g

function withConstants(line: string, constants: Constants, file: string): string {
  return line
    .replace(/\bLEASE_FIELDS\b/g, LEASE.fields.lua)
    .replace(NAME, (name: string, group: string, member: string) => {
      const value = constants[group]?.[member]
      if (value === undefined) throw new Error(`lua/${file}.lua: ${name} is neither in layout.ts nor in calls.ts`)
      if (typeof value === 'object') return value.lua
      return typeof value === 'number' ? String(value) : `'${value.replace(/['\\]/g, '\\$&')}'`
    })
}
