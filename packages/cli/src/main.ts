#!/usr/bin/env node
/** The `decorum` command as a process: parses its arguments (program.ts), runs the command, ends with an exit code of docs/spec/design.md §4. */
import { CommanderError } from 'commander'
import { DONE, type ExitCode, explainError, USAGE } from './exit.ts'
import { buildProgram } from './program.ts'
import { warn } from './terminal.ts'

/** Runs the command in `args`. Never throws: errors are printed on stderr, without a stack where the message is enough. */
export async function runCli(args: string[]): Promise<ExitCode> {
  let code: ExitCode = DONE
  const program = buildProgram((result) => {
    code = result
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    // commander has printed the message already; --help and --version are no mistakes
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USAGE
    const { code: failed, text } = explainError(error)
    warn(`decorum: ${text}`)
    return failed
  }
}

/** A handle that is left open at the end (a keep-alive socket) keeps the process alive for at most this long. */
const LINGER_MS = 2_000

/** Files of these commands are readable by their user alone; a single role keeps the umask that its operator set. */
const ROLES = new Set(['gateway', 'fetcher', 'console', 'permits'])

if (import.meta.main) {
  if (!ROLES.has(process.argv[2] ?? '')) process.umask(0o077)
  for (const stream of [process.stdout, process.stderr]) {
    // `decorum outcomes | head`: the reader has closed the pipe
    stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? DONE : 1))
  }
  process.exitCode = await runCli(process.argv.slice(2))
  setTimeout(() => process.exit(), LINGER_MS).unref()
}
