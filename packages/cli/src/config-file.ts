/** Reads a settings file: YAML or JSON in, plain JSON out. YAML that JSON cannot express is refused, because it would be lost silently. */
import { isUtf8 } from 'node:buffer'
import { SettingsError } from '@decorum/config'
import { printable } from '@decorum/protocol'
import { parseDocument } from 'yaml'
import { messageOf } from './exit.ts'

const LONGEST_FILE = 4 * 1024 * 1024
/** Most aliases that are resolved: nested aliases can turn a short file into a huge document. */
const MOST_ALIASES = 100

/**
 * @param file  its name, for messages
 * @throws      SettingsError in one sentence
 */
export function readConfigFile(file: string, bytes: Uint8Array): unknown {
  const wrong = (what: string): SettingsError => new SettingsError(`${file} ${what}`)
  if (bytes.length > LONGEST_FILE) throw wrong('is longer than any configuration')
  if (!isUtf8(bytes)) throw wrong('is not text in UTF-8: write it in that encoding')
  // Known tags (!!set, !!binary …) make objects that JSON writes as {}: with this option they are reported like unknown ones.
  const parsed = parseDocument(new TextDecoder().decode(bytes), {
    uniqueKeys: true,
    prettyErrors: true,
    resolveKnownTags: false,
    logLevel: 'error',
  })
  const [first] = [...parsed.errors, ...parsed.warnings]
  if (first?.code === 'MULTIPLE_DOCS') throw wrong('holds several documents: one is needed')
  if (first !== undefined) throw wrong(`is neither YAML nor JSON: ${printable(first.message.split('\n')[0] ?? '')}`)
  let value: unknown
  try {
    value = parsed.toJS({ maxAliasCount: MOST_ALIASES })
    JSON.stringify(value)
  } catch (error) {
    const isCircular = error instanceof TypeError
    throw wrong(`cannot be read: ${isCircular ? 'an alias is part of its own value' : messageOf(error)}`)
  }
  return value
}
