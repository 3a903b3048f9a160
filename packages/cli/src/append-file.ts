/**
 * Append-only files. Once append() has resolved, its text is on the disk: written and synced, because some file systems (quotas,
 * NFS) refuse only at that point, and because a caller then drops its copy. Text whose append() has failed is cut off again, so the
 * file always ends with a whole line.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { CommandError, messageOf } from './exit.ts'

const WINDOW = 65_536

export class AppendFile {
  readonly #file: FileHandle
  readonly #path: string
  /** size of the part that is safely on the disk */
  #end: number
  #failure: CommandError | undefined

  private constructor(file: FileHandle, path: string, end: number) {
    this.#file = file
    this.#path = path
    this.#end = end
  }

  /**
   * Opens or creates the file. An incomplete line left by a crash is removed; the rest is on the disk afterwards.
   * @throws CommandError that names the file
   */
  static async open(path: string, { empty = false }: { empty?: boolean } = {}): Promise<AppendFile> {
    let file: FileHandle | undefined
    try {
      file = await open(path, 'a+')
      const end = empty ? 0 : await endOfLastLine(file)
      await file.truncate(end)
      await file.datasync()
      return new AppendFile(file, path, end)
    } catch (error) {
      await file?.close()
      throw cannotBeWritten(path, error)
    }
  }

  /**
   * Appends all of it or nothing; calls must not overlap. After a failure nothing more is accepted.
   * @throws CommandError with the error of the file system
   */
  async append(content: string | Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const octets = typeof content === 'string' ? Buffer.from(content) : content
    if (octets.length === 0) return
    try {
      await this.#file.appendFile(octets)
      await this.#file.datasync()
      this.#end += octets.length
    } catch (error) {
      this.#failure = cannotBeWritten(this.#path, error)
      // If this fails as well, the next open() removes the incomplete line; duplicate whole lines do no harm.
      await this.#file.truncate(this.#end).catch(() => undefined)
      throw this.#failure
    }
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

const cannotBeWritten = (path: string, error: unknown): CommandError =>
  new CommandError(`${path} cannot be written: ${messageOf(error)}`)

/** Position behind the last line end of any kind. */
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
