/** Reads a setting that is too large for a line: a file of JSON, or inline JSON in the environment. */
import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { wrongValues } from './wrong-value.ts'

type Form<T extends z.ZodType> = {
  name: string
  /** the first character of inline JSON; any other text is the path of a file */
  opens: '[' | '{'
  schema: T
  /** the names of all members: for a misspelt one the nearest is suggested */
  members: readonly string[]
  /** whether it may hold passwords: then no part of it is quoted */
  isSecret?: boolean
  /** checks the JSON before the schema does. @throws Error */
  inspect?: (json: unknown) => void
}

/** @throws Error naming the setting, with a message for people, when it cannot be read or is invalid */
export function readJsonSetting<T extends z.ZodType>(form: Form<T>, text: string): z.output<T> {
  const { name, opens, schema, members, isSecret = false, inspect } = form
  const inline = text.trimStart().startsWith(opens)
  let json: unknown
  try {
    json = JSON.parse(inline ? text : readFileSync(text, 'utf8'))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isAbsent = code === 'ENOENT'
    const why = isAbsent
      ? 'there is no such file'
      : isSecret && error instanceof SyntaxError
        ? 'it is not JSON'
        : message
    throw new Error(`${name}: ${inline ? 'the inline JSON' : text} cannot be read: ${why}`)
  }
  inspect?.(json)
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  throw new Error(wrongValues(parsed.error, isSecret ? {} : json, name, members).join('\n  '))
}
