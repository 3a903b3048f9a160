/** Standard output for lines that are acknowledged once written: if a file accepts only part of a batch, that part is removed again. */
import { appendFile, fdatasync, fstat, ftruncate } from 'node:fs'
import { promisify } from 'node:util'
import { CommandError, messageOf } from './exit.ts'
import { writeLines } from './terminal.ts'

const fd = 1
const [stat, append, truncate, sync] = [
  promisify(fstat),
  promisify(appendFile),
  promisify(ftruncate),
  promisify(fdatasync),
]

/**
 * @returns a function that writes whole lines; calls must not overlap. For a file, they are on the disk when it resolves (Node's stdout
 * treats a short write, the first symptom of a full disk, as complete). A pipe or terminal has accepted them.
 * @throws CommandError from the function, with the error of the file system
 */
export async function standardOutput(): Promise<(lines: string) => Promise<void>> {
  if (!(await stat(fd)).isFile()) return writeLines
  return async (lines) => {
    const { size } = await stat(fd)
    try {
      await append(fd, lines)
      await sync(fd)
    } catch (error) {
      await truncate(fd, size).catch(() => undefined)
      throw new CommandError(
        `standard output cannot be written: ${messageOf(error)}; missing lines are delivered again`,
      )
    }
  }
}
