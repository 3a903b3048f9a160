/**
 * The body of one answer during the download: counted, digested, and kept only when it will be read. A kept body stays in
 * memory up to a limit and continues in a temporary file, so that a hundred endless bodies use little memory.
 */
import { createHash, type Hash, randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SPOOL_MEMORY_BYTES } from '../limits.ts'
import { freeChunk } from './chunk-memory.ts'
import { sha1 } from './digest.ts'

/** Smaller chunks are merged, because each chunk costs as much time and memory as a large one. */
const SMALL_BYTES = 2_048
const GATHER_BYTES = 16_384

/** A body was read after it had been discarded: any result would be wrong. */
export class DiscardedBodyError extends Error {
  override readonly name = 'DiscardedBodyError'
  readonly code = 'ERR_BODY_DISCARDED'
  constructor() {
    super('the body was discarded before it was read')
  }
}

export class Body {
  /** bytes so far, as they came over the wire */
  bytes = 0
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #gathered: Buffer | undefined
  #gatheredBytes = 0
  #hash: Hash | undefined
  #digest: Uint8Array | Promise<Uint8Array> | undefined
  #file: FileHandle | undefined
  #spooled = 0
  #writing: Promise<void> | undefined
  #failed: Error | undefined
  #isDiscarded = false
  /** the first bytes for `start`, when the chunks themselves have been freed */
  #start: Uint8Array[] | undefined
  readonly #startBytes: number
  /** whether the body can be read; otherwise it is only counted and digested */
  readonly isKept: boolean

  /** @param startBytes  most bytes that `start` can return, whether the body is kept or not; at most SPOOL_MEMORY_BYTES */
  constructor(isKept: boolean, startBytes = 0) {
    this.isKept = isKept
    this.#startBytes = startBytes
  }

  /**
   * Takes ownership of a chunk. @returns a promise when the sender should pause until it resolves; it never rejects
   */
  write(chunk: Uint8Array): Promise<void> | undefined {
    if (this.bytes === 0 || chunk.length >= SMALL_BYTES) {
      void this.#gather() // before the chunk is counted, so that `bytes` includes only gathered or kept chunks
      this.bytes += chunk.length
      return this.#take(chunk)
    }
    this.bytes += chunk.length
    this.#gathered ??= Buffer.allocUnsafeSlow(GATHER_BYTES)
    this.#gathered.set(chunk, this.#gatheredBytes)
    this.#gatheredBytes += chunk.length
    return this.#gatheredBytes > GATHER_BYTES - SMALL_BYTES ? this.#gather() : undefined
  }

  /** SHA-1 of all bytes; call it when the body is complete. @throws DiscardedBodyError */
  digest(): Uint8Array | Promise<Uint8Array> {
    this.#assertThere()
    if (this.#digest === undefined) {
      void this.#gather()
      this.#digest = this.#hash === undefined ? sha1(this.#kept) : this.#hash.digest()
      if (!this.isKept) this.#forget()
    }
    return this.#digest
  }

  /**
   * The bytes in order: all of them, or an error.
   * @throws DiscardedBodyError, also while reading; errors of the temporary file (disk full …)
   */
  async *read(): AsyncGenerator<Uint8Array> {
    void this.#gather()
    await this.#writing
    if (this.#failed !== undefined) throw this.#failed
    this.#assertThere()
    let bytes = 0
    if (this.#file !== undefined) {
      while (bytes < this.#spooled) {
        const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(65_536), 0, 65_536, bytes)
        if (bytesRead === 0) throw new Error('the temporary file of a body was cut')
        bytes += bytesRead
        yield buffer.subarray(0, bytesRead)
        this.#assertThere()
      }
    }
    for (const chunk of this.#kept) {
      bytes += chunk.length
      yield chunk
      this.#assertThere()
    }
    if (bytes !== this.bytes) throw new Error(`${bytes} of ${this.bytes} bytes of a body can be read`)
  }

  /** All bytes when they are in memory, without a copy; undefined when they are not. @throws DiscardedBodyError */
  inMemory(): Uint8Array[] | undefined {
    this.#assertThere()
    void this.#gather()
    const isElsewhere = this.#file !== undefined || this.#failed !== undefined || this.#writing !== undefined
    return this.isKept && !isElsewhere ? this.#kept : undefined
  }

  /** Frees the kept bytes; reading them then throws. */
  async discard(): Promise<void> {
    this.#isDiscarded = true
    this.#kept = []
    this.#gathered = undefined
    this.#gatheredBytes = 0
    await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  /**
   * The first bytes, as many as arrived and were requested by `startBytes`. Bytes in memory are not copied, so read them in this tick,
   * and before `digest`, which frees a body that is not kept.
   * @throws DiscardedBodyError
   */
  start(): readonly Uint8Array[] {
    this.#assertThere()
    void this.#gather()
    if (this.#start === undefined && this.#digest !== undefined && !this.isKept) throw new DiscardedBodyError()
    return this.#start ?? this.#firstChunks()
  }

  /** Called before the first chunks are written to a file or freed. */
  #copyStart(): void {
    this.#start ??= this.#firstChunks().map((chunk) => Buffer.from(chunk))
  }

  #firstChunks(): Uint8Array[] {
    const first: Uint8Array[] = []
    let room = this.#startBytes
    for (const chunk of this.#kept) {
      if (room <= 0) break
      first.push(chunk.length <= room ? chunk : chunk.subarray(0, room)) // making a view takes longer than reading most pages' heads
      room -= chunk.length
    }
    return first
  }

  #assertThere(): void {
    if (this.#isDiscarded) throw new DiscardedBodyError()
  }

  #gather(): Promise<void> | undefined {
    if (this.#gathered === undefined || this.#gatheredBytes === 0) return undefined
    const chunk = this.#gathered.subarray(0, this.#gatheredBytes)
    this.#gathered = undefined
    this.#gatheredBytes = 0
    return this.#take(chunk)
  }

  #take(chunk: Uint8Array): Promise<void> | undefined {
    this.#kept.push(chunk)
    this.#keptBytes += chunk.length
    if (this.bytes <= SPOOL_MEMORY_BYTES) return undefined // a small body is digested at its end, as a whole
    if (this.#hash === undefined) {
      this.#hash = createHash('sha1')
      for (const before of this.#kept) this.#hash.update(before)
    } else this.#hash.update(chunk)
    if (!this.isKept) {
      this.#copyStart()
      this.#forget()
      return undefined
    }
    if (this.#keptBytes <= SPOOL_MEMORY_BYTES || this.#failed !== undefined) return undefined
    this.#writing ??= this.#spool().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  /** Frees chunks that will not be read; no other reference to them exists. */
  #forget(): void {
    for (const chunk of this.#kept) freeChunk(chunk)
    this.#kept = []
  }

  async #spool(): Promise<void> {
    try {
      this.#copyStart()
      while (this.#keptBytes > SPOOL_MEMORY_BYTES) {
        const chunks = this.#kept
        this.#kept = []
        this.#keptBytes = 0
        this.#file ??= await anonymousFile()
        for (let rest = Buffer.concat(chunks); rest.length > 0;) {
          const { bytesWritten } = await this.#file.write(rest, 0, rest.length, this.#spooled)
          this.#spooled += bytesWritten
          rest = rest.subarray(bytesWritten)
        }
      }
    } catch (error) {
      this.#failed = error as Error
      this.#kept = []
      this.#keptBytes = 0
    }
  }
}

/** A file without a name: it is removed with its descriptor, even when the process is killed. */
async function anonymousFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `decorum-body-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
