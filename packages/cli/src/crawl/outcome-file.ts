/** outcomes.ndjson: one line per outcome, on the disk before the outcome is acknowledged. */
import { createReadStream } from 'node:fs'
import { type Outcome, readOutcome } from '@decorum/protocol'
import { AppendFile } from '../append-file.ts'
import { CommandError } from '../exit.ts'

export class OutcomeFile {
  readonly #file: AppendFile

  private constructor(file: AppendFile) {
    this.#file = file
  }

  /** Opens or creates the file. A line cut by a crash is removed: its outcome was not acknowledged and will be redelivered. */
  static async open(path: string): Promise<OutcomeFile> {
    return new OutcomeFile(await AppendFile.open(path))
  }

  /**
   * Appends all outcomes or none; calls must not overlap.
   * @param lineOf  the line of the list that an outcome belongs to, for its meta
   * @throws CommandError with the error of the file system
   */
  append(outcomes: Outcome[], lineOf: (id: string) => number | undefined): Promise<void> {
    const lines = outcomes.map((outcome) => {
      const line = lineOf(outcome.id)
      return `${JSON.stringify(line === undefined ? outcome : { ...outcome, meta: { ...outcome.meta, line } })}\n`
    })
    return this.#file.append(lines.join(''))
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

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
