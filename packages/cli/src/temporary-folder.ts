import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandError, messageOf } from './exit.ts'

/** Makes a new folder for this command alone. @throws CommandError that names TMPDIR, which may be wrong */
export async function temporaryFolder(command: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), `decorum-${command}-`))
  } catch (error) {
    throw new CommandError(`${command}: no temporary folder can be made in ${tmpdir()} (TMPDIR): ${messageOf(error)}`)
  }
}
