/** One command from its arguments (program.ts) to an exit code of docs/spec/design.md §4. */
import { CommanderError } from 'commander'
import { DONE, type ExitCode, explainError, USAGE } from './exit.ts'
import { buildProgram } from './program.ts'
import { warn } from './terminal.ts'

/** Runs the command in `args`. Never throws: errors are printed on stderr, without a stack where the message is enough. */
export async function runCommand(args: string[]): Promise<ExitCode> {
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
