/**
 * Lua scripts in separate files. A script may include parts with a line `--- @include "lib/lane"`, each once. Names such as `KEY.due` and
 * `ARG.limit` are replaced by their values at load time, so a stored name can be short and a lookup costs nothing.
 */
import { readFileSync } from 'node:fs'
import type { Arg } from './calls.ts'
import type { Verbatim } from './layout.ts'
import type { RedisLink } from './link.ts'

export type Constants = Record<string, Record<string, string | number | Verbatim>>

/**
 * First line of a script that also runs in a Redis which has reached its maxmemory. Leases must be able to end there, or their requests
 * would be made again; pages must be fetched, or no memory would become free; and an operator must still be able to view and pause. The
 * slots of the fleet and the unread outcomes that are then allowed (memory.ts) bound how much is written.
 */
export const ALLOWED_WHEN_FULL = '#!lua flags=allow-oom'

export type Library = {
  readonly constants: Constants
  /** prepares a part; a library that has this one as its base uses this function, too */
  prepare(file: string, text: string): string
  /** @param file  below the folder, without its extension: `lib/clock` */
  read(file: string): string
  /**
   * @param args  names of the script's arguments, in order: `ARG.name` is the place of one, `ARG.items` of the items behind them
   * @param read  tests only: replaces the text of a part
   * @throws Error  with the file, for an unknown name
   */
  text(file: string, args: readonly string[], read?: (file: string) => string): string
  /** A script that declares its own keys. It is read when it is first run. */
  script<const Name extends string>(file: string, args: readonly Name[], how?: { whenFull?: boolean }): Script<Name>
}

export type Script<Name extends string> = {
  readonly file: string
  readonly args: readonly Name[]
  /** tests replace it */
  text: string
  run(redis: RedisLink, keys: readonly string[], args: Record<Name, Arg>, items?: readonly Arg[]): Promise<unknown>
}

/** Marks a script as allowed to run in a Redis that is full. */
export const whenFull = (text: string): string => `${ALLOWED_WHEN_FULL}\n${text}`

type Source = {
  /** the folder of the files; in a bundle, their texts by file name */
  folder: URL | Readonly<Record<string, string>>
  constants?: Constants
  /** prepares a part: refuses it, or replaces a comment by a mark */
  prepare?(file: string, text: string): string
  /** the library for parts that the folder does not have; its names are known here, too */
  base?: Library
}

export function libraryOf({
  folder,
  constants = {},
  base,
  prepare = base?.prepare ?? ((_, text) => text),
}: Source): Library {
  const texts = new Map<string, string>()
  const pieces = new Map<string, readonly Piece[]>()
  const names: Constants = { ...base?.constants, ...constants }
  const read = (file: string): string => {
    const text = texts.get(file) ?? ownText(folder, file) ?? base?.read(file)
    if (text === undefined) throw new Error(`there is no script lua/${file}.lua`)
    texts.set(file, text)
    return text
  }
  /** Scripts share most of their parts: each part is parsed once. */
  const piecesIn = (file: string, text: string): readonly Piece[] => {
    const known = pieces.get(text) ?? takeApart(file, prepare(file, text), names)
    pieces.set(text, known)
    return known
  }
  const textOf = (file: string, args: readonly string[], readPart = read): string => {
    const all = { ...names, ARG: placesOf(args) }
    const included = new Set<string>()
    const include = (part: string): string[] => {
      if (included.has(part)) return []
      included.add(part)
      return piecesIn(part, readPart(part)).flatMap((piece) => {
        if (typeof piece === 'string') return piece
        return 'include' in piece ? include(piece.include) : withConstants(piece.own, all, part)
      })
    }
    return include(file).join('\n')
  }
  return {
    constants: names,
    prepare,
    read,
    text: textOf,
    script(file, args, { whenFull: isAllowed = false } = {}) {
      let text: string | undefined
      return {
        file,
        args,
        get text() {
          text ??= isAllowed ? whenFull(textOf(file, args)) : textOf(file, args)
          return text
        },
        set text(other) {
          text = other
        },
        run(redis, keys, values, items = []) {
          return redis.eval(this.text, keys.length, ...keys, ...args.map((name) => values[name]), ...items)
        },
      }
    },
  }
}

function ownText(folder: Source['folder'], file: string): string | undefined {
  if (!(folder instanceof URL)) return folder[file]
  try {
    return readFileSync(new URL(`${file}.lua`, folder), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function placesOf(args: readonly string[]): Record<string, number> {
  return { ...Object.fromEntries(args.map((name, n) => [name, n + 1])), items: args.length + 1 }
}

/** Code that is the same in every script; code that names places of arguments, which differ from script to script; or another part. */
type Piece = string | { own: string } | { include: string }

/** Splits a part into pieces, without comments, and replaces its names, except those that differ from script to script. */
function takeApart(file: string, text: string, constants: Constants): readonly Piece[] {
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
  return pieces.map((piece) => (typeof piece === 'string' ? withConstants(piece, constants, file) : piece))
}

const INCLUDE = /^--- @include "([\w/-]+)"$/
/** Comments can be removed by patterns, because no string in the scripts contains '--'. */
const BLOCK_COMMENT = /--\[\[[\s\S]*?\]\]/g
const LINE_COMMENT = /--.*$/

/** A name such as `KEY.due`; `LEASE_FIELDS` stands for LEASE.fields. */
const NAME = /\b([A-Z][A-Z_]+)\.([a-z]\w*)\b/g

export function withConstants(line: string, constants: Constants, file: string): string {
  return line
    .replace(/\bLEASE_FIELDS\b/g, 'LEASE.fields')
    .replace(NAME, (name: string, group: string, member: string) => {
      const value = constants[group]?.[member]
      if (value === undefined) throw new Error(`lua/${file}.lua: ${name} is neither in layout.ts nor in calls.ts`)
      if (typeof value === 'object') return value.lua
      return typeof value === 'number' ? String(value) : `'${value.replace(/['\\]/g, '\\$&')}'`
    })
}
