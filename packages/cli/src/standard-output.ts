/** Standard output for lines that are acknowledged once written: if a file accepts only part of a batch, that part is removed again. */
import { appendFileSync, fdatasyncSync, fstatSync, ftruncateSync } from 'node:fs'
import { CommandError, messageOf } from './exit.ts'
import { writeLines } from './terminal.ts'

const fd = 1

/**
 * @returns a function that writes whole lines; calls must not overlap. For a file, they are on the disk when it resolves (Node's stdout
 * treats a short write, the first symptom of a full disk, as complete). A pipe or terminal has accepted them.
 * @throws CommandError from the function, with the error of the file system
 */
export function standardOutput(): (lines: string) => Promise<void> {
  if (!fstatSync(fd).isFile()) return writeLines
  return async (lines) => {
    const { size } = fstatSync(fd)
    try {
      appendFileSync(fd, lines)
      fdatasyncSync(fd)
    } catch (error) {
      try {
        ftruncateSync(fd, size)
      } catch {} // the first error is reported
      throw new CommandError(
        `standard output cannot be written: ${messageOf(error)}; missing lines are delivered again`,
      )
    }
  }
}
