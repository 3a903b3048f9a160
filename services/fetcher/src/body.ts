/**
 * The body of one answer while it comes in: counted, digested, and kept only when somebody wants it. What is kept
 * stays in memory up to a bound and continues in a temporary file, so that a hundred endless bodies cost little.
 */
import { createHash, type Hash, hash, randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SPOOL_MEMORY_BYTES } from './limits.ts'

/** Chunks below this are gathered: each costs as much as a large one, in time and in memory. */
const SMALL_BYTES = 2_048
const GATHER_BYTES = 16_384

export class Body {
  /** octets so far, as they came over the wire */
  bytes = 0
  #kept: Uint8Array[] = []
  #keptBytes = 0
  #gathered: Buffer | undefined
  #gatheredBytes = 0
  #hash: Hash | undefined
  #digest: Buffer | undefined
  #file: FileHandle | undefined
  #spooled = 0
  #writing: Promise<void> | undefined
  #failed: Error | undefined
  readonly #keep: boolean

  /** @param keep  false: only counted and digested */
  constructor(keep: boolean) {
    this.#keep = keep
  }

  /** Takes a chunk. @returns a promise when the sender should pause until it resolves; it never rejects. */
  write(chunk: Uint8Array): Promise<void> | undefined {
    const isFirst = this.bytes === 0
    this.bytes += chunk.length
    if (isFirst && chunk.length <= SPOOL_MEMORY_BYTES) {
      this.#kept.push(chunk) // most bodies are this one chunk: it is neither copied nor digested until the end
      this.#keptBytes = chunk.length
      return undefined
    }
    if (chunk.length >= SMALL_BYTES) {
      void this.#gather()
      return this.#take(chunk)
    }
    this.#gathered ??= Buffer.allocUnsafeSlow(GATHER_BYTES)
    this.#gathered.set(chunk, this.#gatheredBytes)
    this.#gatheredBytes += chunk.length
    return this.#gatheredBytes > GATHER_BYTES - SMALL_BYTES ? this.#gather() : undefined
  }

  /** SHA-1 of all octets; the body is complete by then. */
  digest(): Buffer {
    void this.#gather()
    this.#digest ??= this.#hash?.digest() ?? hash('sha1', this.#kept[0] ?? '', 'buffer')
    return this.#digest
  }

  /** The octets in order. @throws what the temporary file threw (disk full …) */
  async *read(): AsyncGenerator<Uint8Array> {
    void this.#gather()
    await this.#writing
    if (this.#failed !== undefined) throw this.#failed
    if (this.#file !== undefined) {
      for (let at = 0; at < this.#spooled; ) {
        const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(65_536), 0, 65_536, at)
        if (bytesRead === 0) throw new Error('the temporary file of a body was cut')
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    }
    yield* this.#kept
  }

  /** All octets when they are in memory: no copying for the common small page. */
  inMemory(): Uint8Array[] | undefined {
    void this.#gather()
    const isElsewhere = this.#file !== undefined || this.#failed !== undefined || this.#writing !== undefined
    return this.#keep && !isElsewhere ? this.#kept : undefined
  }

  /** Frees what was kept. */
  async discard(): Promise<void> {
    this.#kept = []
    this.#gathered = undefined
    this.#gatheredBytes = 0
    await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  #gather(): Promise<void> | undefined {
    if (this.#gathered === undefined || this.#gatheredBytes === 0) return undefined
    const chunk = this.#gathered.subarray(0, this.#gatheredBytes)
    this.#gathered = undefined
    this.#gatheredBytes = 0
    return this.#take(chunk)
  }

  #take(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#hash === undefined) {
      this.#hash = createHash('sha1')
      for (const before of this.#kept) this.#hash.update(before)
    }
    this.#hash.update(chunk)
    if (!this.#keep) {
      this.#kept = []
      return undefined
    }
    this.#kept.push(chunk)
    this.#keptBytes += chunk.length
    if (this.#keptBytes <= SPOOL_MEMORY_BYTES || this.#failed !== undefined) return undefined
    this.#writing ??= this.#spool().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #spool(): Promise<void> {
    try {
      while (this.#keptBytes > SPOOL_MEMORY_BYTES) {
        const chunks = this.#kept
        this.#kept = []
        this.#keptBytes = 0
        this.#file ??= await anonymousFile()
        for (let rest = Buffer.concat(chunks); rest.length > 0; ) {
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

/** A file without a name: gone with its descriptor, also when the process is killed. */
async function anonymousFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `decorum-body-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}
