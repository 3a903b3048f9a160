/** What an operator should know of a robots.txt beside its answer: why some of it may not do what its site meant. For the notes of the origin. */
import type { Agents } from '@decorum/config'
import { parseRobots, policies, type WarningKind } from '@decorum/robots'

/** Warnings that an answer is noted with. Misspelt fields and the like are read as they are meant, and `decorum check` lists them. */
const NOTED: readonly WarningKind[] = ['not-text', 'looks-like-html', 'pattern-without-slash', 'pattern-not-encoded']
/** Warnings quoted in a note; the count of the others follows. */
const QUOTED = 2

/** undefined: there is nothing to remark. */
export function remarkOf(file: Uint8Array, { list }: Agents): string | undefined {
  // A pattern that is not encoded forbids nothing to agents alone that compare as google/robotstxt does.
  const isWritten = list.some(({ profile }) => policies[profile].encoding === 'as-written')
  const noted = parseRobots(file).warnings.filter(
    ({ kind }) => NOTED.includes(kind) && (kind !== 'pattern-not-encoded' || isWritten),
  )
  if (noted.length === 0) return undefined
  const quoted = noted.slice(0, QUOTED).map(({ line, text }) => (line > 0 ? `line ${line}: ${text}` : text))
  const left = noted.length - quoted.length
  return [...quoted, ...(left > 0 ? [`${left} more such lines`] : [])].join('; ')
}
