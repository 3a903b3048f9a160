/** Runs one command (program.ts) and returns an exit code of docs/spec/design.md §4, or that of the command it runs (`guard`). */
import { DONE, explainError, USAGE, UsageError } from './exit.ts'
import { presentForm } from './former-forms.ts'
import { isRole } from './roles.ts'
import { warn, writeLines } from './terminal.ts'

/** Runs the command in `args`. Never throws: errors are printed on stderr, without a stack where the message is enough. */
export async function runCommand(args: string[]): Promise<number> {
  try {
    const [word] = args
    // Containers and fleets start a role by its name alone: that needs no parser, whose modules take 20 ms of CPU to load
    if (args.length === 1 && isRole(word)) return await (await import('./commands/role.ts')).runRole(word)
    const present = presentForm(args)
    if (present !== undefined) throw new UsageError(present)
    return await parsed(word === 'help' ? [...args.slice(1), '--help'] : args)
  } catch (error) {
    const { code, text } = explainError(error)
    warn(`decorum: ${text}`)
    return code
  }
}

async function parsed(args: string[]): Promise<number> {
  const [{ CommanderError }, { buildProgram }] = await Promise.all([import('commander'), import('./program.ts')])
  let code: number = DONE
  const program = buildProgram((result) => {
    code = result
  })
  if (args[0] === '--complete') {
    const { completed } = await import('./completion.ts')
    await writeLines(completed(program, args.slice(1)))
    return DONE
  }
  try {
    await program.parseAsync(args, { from: 'user' })
    return code
  } catch (error) {
    // commander has printed the message already; --help and --version are no mistakes
    if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USAGE
    throw error
  }
}
