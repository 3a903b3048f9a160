/** outcomes.ndjson: one line per outcome, on the disk before the outcome is acknowledged. */
import { createReadStream } from 'node:fs'
import { type Outcome, readOutcome } from '@decorum/protocol'
import { CommandError } from '../exit.ts'

/**
 * Outcomes as lines. A line that a crash cut off is removed when the file is opened again; its outcome is redelivered, because it was not
 * acknowledged.
 * @param lineOf  returns the number of the list's line for an id, which is added to `meta`
 */
export const outcomeLines = (outcomes: Outcome[], lineOf: (id: string) => number | undefined): string =>
  outcomes
    .map((outcome) => {
      const line = lineOf(outcome.id)
      return `${JSON.stringify(line === undefined ? outcome : { ...outcome, meta: { ...outcome.meta, line } })}\n`
    })
    .join('')

/**
 * Reads the outcomes of earlier runs.
 * @throws CommandError that names a line which is no outcome
 */
export async function* outcomesIn(path: string): AsyncGenerator<Outcome> {
  let number = 0
  for await (const line of linesOfJson(path)) {
    number++
    if (line === '') continue
    const outcome = readOutcome(line)
    if (outcome === undefined)
      throw new CommandError(
        `line ${number} of ${path} is no outcome: remove it, and its URL is fetched again by --resume`,
      )
    yield outcome
  }
}

/** Splits by LF only: JSON may contain other line ends (U+2028), at which readline would split. */
async function* linesOfJson(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8' })) {
    const lines = (rest + (chunk as string)).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}
