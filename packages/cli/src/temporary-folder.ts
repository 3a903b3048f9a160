import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommandError, messageOf } from './exit.ts'

/** Makes a folder that is removed when this process exits, unless a signal kills it. @throws CommandError that names TMPDIR */
export function temporaryFolder(command: string): string {
  try {
    const folder = mkdtempSync(join(tmpdir(), `decorum-${command}-`))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    return folder
  } catch (error) {
    throw new CommandError(`${command}: no temporary folder can be made in ${tmpdir()} (TMPDIR): ${messageOf(error)}`)
  }
}
