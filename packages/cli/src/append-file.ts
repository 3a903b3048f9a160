/**
 * Append-only files. Once append() has resolved, its text is on the disk: written and synced, because some file systems (quotas,
 * NFS) refuse only at that point, and because a caller then drops its copy. Text whose append() has failed is cut off again, so the
 * file always ends with a whole line.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { CommandError, messageOf } from './exit.ts'

const WINDOW = 65_536

export type AppendFile = Awaited<ReturnType<typeof openAppendFile>>

/**
 * Opens or creates the file. An incomplete line left by a crash is removed; the rest is on the disk afterwards.
 * @throws CommandError that names the file
 */
export async function openAppendFile(path: string, { empty = false }: { empty?: boolean } = {}) {
  const cannotBeWritten = (error: unknown) => new CommandError(`${path} cannot be written: ${messageOf(error)}`)
  const file = await open(path, 'a+').catch((error: unknown) => {
    throw cannotBeWritten(error)
  })
  /** size of the part that is safely on the disk */
  let end = 0
  let failure: CommandError | undefined
  try {
    if (!empty) end = await endOfLastLine(file)
    await file.truncate(end)
    await file.datasync()
  } catch (error) {
    await file.close()
    throw cannotBeWritten(error)
  }
  return {
    /**
     * Appends all of it or nothing; calls must not overlap. After a failure nothing more is accepted.
     * @throws CommandError with the error of the file system
     */
    async append(content: string | Uint8Array): Promise<void> {
      if (failure !== undefined) throw failure
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      if (bytes.length === 0) return
      try {
        await file.appendFile(bytes)
        await file.datasync()
        end += bytes.length
      } catch (error) {
        failure = cannotBeWritten(error)
        // If this fails as well, the next opening removes the incomplete line; duplicate whole lines do no harm.
        await file.truncate(end).catch(() => undefined)
        throw failure
      }
    },
    close: () => file.close(),
  }
}

/** Position after the last LF or CR; 0 if there is none. */
async function endOfLastLine(file: FileHandle): Promise<number> {
  const { size } = await file.stat()
  for (let end = size; end > 0;) {
    const from = Math.max(0, end - WINDOW)
    const { buffer } = await file.read(Buffer.alloc(end - from), 0, end - from, from)
    const at = Math.max(buffer.lastIndexOf(0x0a), buffer.lastIndexOf(0x0d))
    if (at >= 0) return from + at + 1
    end = from
  }
  return 0
}
