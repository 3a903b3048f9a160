/** Remarks on a robots.txt for operators: why parts of it may not do what the site intended. They go to the notes of the origin. */
import type { Agents } from '@decorum/config'
import { parseRobots, policies, type WarningKind } from '@decorum/robots'

/** Warnings that are noted with an answer. Misspelt fields and the like are read as intended, and `decorum check` lists them. */
const NOTED: readonly WarningKind[] = ['not-text', 'looks-like-html', 'pattern-without-slash', 'pattern-not-encoded']
/** Warnings quoted in a note; the count of the others follows. */
const QUOTED = 2

/** undefined: there is nothing to remark. */
export function remarkOf(file: Uint8Array, { list }: Agents): string | undefined {
  // Only agents that compare as google/robotstxt does ignore a pattern that is not encoded.
  const isWritten = list.some(({ profile }) => policies[profile].encoding === 'as-written')
  const noted = parseRobots(file).warnings.filter(
    ({ kind }) => NOTED.includes(kind) && (kind !== 'pattern-not-encoded' || isWritten),
  )
  if (noted.length === 0) return undefined
  const quoted = noted.slice(0, QUOTED).map(({ line, text }) => (line > 0 ? `line ${line}: ${text}` : text))
  const left = noted.length - quoted.length
  return [...quoted, ...(left > 0 ? [`${left} more such lines`] : [])].join('; ')
}
