#!/usr/bin/env node
/** The `decorum` command: reads what was typed, does it, ends with the exit code of docs/spec/design.md §4. */
import { CommanderError } from 'commander'
import { DONE, type ExitCode, explainError, USAGE } from './exit.ts'
import { buildProgram } from './program.ts'
import { warn } from './terminal.ts'

/** Does what `args` say. Never throws: what went wrong is on stderr, in a sentence where one is enough. */
export async function runCli(args: string[]): Promise<ExitCode> {
  let code: ExitCode = DONE
  const program = buildProgram((result) => {
    code = result
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    // commander has printed its sentence already; asking for help or for the version is no mistake
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USAGE
    const { code: failed, text } = explainError(error)
    warn(`decorum: ${text}`)
    return failed
  }
}

/** What is left open at the end (a keep-alive socket) may hold the process no longer than this. */
const LINGER_MS = 2_000

/** What these commands write is for their user alone; a single role is set up by an operator, its umask too. */
const ROLES = new Set(['gateway', 'fetcher', 'console'])

if (import.meta.main) {
  if (!ROLES.has(process.argv[2] ?? '')) process.umask(0o077)
  for (const stream of [process.stdout, process.stderr]) {
    // `decorum outcomes | head`: the reader has seen enough
    stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? DONE : 1))
  }
  process.exitCode = await runCli(process.argv.slice(2))
  setTimeout(() => process.exit(), LINGER_MS).unref()
}
