/** Describes a wrong value in a sentence: its name, what is valid, and what was given. */
import { nearestName } from '@decorum/protocol'
import type { z } from 'zod'

/** Names of values that may hold a password; these are never repeated. */
const SECRET = /PASSWORD|SECRET|TOKEN|_URL$/
const MAX_SHOWN = 80

/**
 * One line per wrong value that a schema has refused.
 * @param given    the input: the value at each issue's path is quoted
 * @param name     the beginning of each path: the variable's name, if the input is the value of one variable
 * @param members  names of all members that exist; for a misspelt one the nearest is suggested
 */
export function wrongValues(
  { issues }: z.ZodError,
  given: unknown,
  name = '',
  members: readonly string[] = [],
): string[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => {
        const meant = nearestName(key, members)
        return `${pathOf(name, [...issue.path, key])}: there is no such member${meant === undefined ? '' : `; did you mean ${meant}?`}`
      })
    const path = pathOf(name, issue.path)
    const shown =
      issue.code === 'custom' && issue.params?.quotesItself === true ? '' : quoted(path, valueAt(given, issue.path))
    return `${path || 'settings'}: ${expected(issue)}${shown}`
  })
}

/** `DECORUM_AGENTS[0].userAgent` */
function pathOf(name: string, path: PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    name,
  )
}

/** Describes the valid values. A schema's own words are quoted. */
function expected(issue: z.core.$ZodIssue): string {
  if (issue.message !== '' && !/^(Invalid|Too|Unrecognized)/.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return `${nounOf(issue.expected)} is needed`
    case 'invalid_value':
      return `one of ${issue.values.join(', ')} is needed`
    case 'too_small':
      return `${bound(issue.origin, issue.minimum, 'at least')} needed`
    case 'too_big':
      return `${bound(issue.origin, issue.maximum, 'at most')} needed`
    case 'invalid_union':
      return 'it has none of the forms that are understood'
    default:
      return 'this form is not understood'
  }
}

const NOUNS: Record<string, string> = {
  int: 'a whole number',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  string: 'a text',
}
const nounOf = (type: string): string => NOUNS[type] ?? `a ${type}`
function bound(origin: string, limit: number | bigint, how: string): string {
  if (origin === 'string') return `${how} ${limit} characters are`
  if (origin === 'array') return limit === 1 ? `${how} one entry is` : `${how} ${limit} entries are`
  return `a number of ${how} ${limit} is`
}

function valueAt(given: unknown, path: PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    given,
  )
}

function quoted(path: string, value: unknown): string {
  if (value === undefined || SECRET.test(path)) return ''
  const text = typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
  return `, not ${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}`
}
