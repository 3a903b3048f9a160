/** Shared by all scripts: the project's folder, messages, errors that end a script with a sentence. */
import { fileURLToPath } from 'node:url'

/** The project's folder, without a slash at its end. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** Something on this machine is missing; the message says in one sentence what to do. */
export class SetupError extends Error {}

/** Prints one line for a person on stderr, because standard output belongs to the command. */
export function say(line) {
  process.stderr.write(`decorum: ${line}\n`)
}

/** Runs a script's body; a SetupError becomes its sentence and exit code 1. */
export async function main(body) {
  try {
    process.exitCode = await body()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    process.exitCode = 1
  }
}
