/** outcomes.ndjson: one line per outcome, each written before it is acknowledged. */
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Outcome } from '@decorum/protocol'

export class OutcomeFile {
  readonly #file: FileHandle
  #lines: string[] = []
  #written: (() => void)[] = []

  private constructor(file: FileHandle) {
    this.#file = file
  }

  /** Opens or makes it. A line cut by a crash is removed: its outcome was not acknowledged and comes again. */
  static async open(path: string): Promise<OutcomeFile> {
    const file = await open(path, 'a+')
    await cutBehindLastLine(file)
    return new OutcomeFile(file)
  }

  /** @param written  called once the line is on its way to the disk */
  add(outcome: Outcome, line: number | undefined, written: () => void): void {
    const meta = line === undefined ? outcome.meta : { ...outcome.meta, line }
    this.#lines.push(`${JSON.stringify(meta === undefined ? outcome : { ...outcome, meta })}\n`)
    this.#written.push(written)
  }

  /** Writes what has come; call it one at a time. @throws what the file system says, and keeps nothing back as written */
  async flush(): Promise<void> {
    if (this.#lines.length === 0) return
    const text = this.#lines.join('')
    const written = this.#written
    this.#lines = []
    this.#written = []
    await this.#file.appendFile(text)
    for (const tell of written) tell()
  }

  async close(): Promise<void> {
    await this.#file.datasync()
    await this.#file.close()
  }
}

const WINDOW = 65_536

/** Removes what a crash has left of a line. */
export async function cutBehindLastLine(file: FileHandle): Promise<void> {
  const { size } = await file.stat()
  await file.truncate(await endOfLastLine(file, size))
}

async function endOfLastLine(file: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - WINDOW)
    const { buffer } = await file.read(Buffer.alloc(end - from), 0, end - from, from)
    const at = buffer.lastIndexOf(0x0a)
    if (at >= 0) return from + at + 1
    end = from
  }
  return 0
}

/** What an earlier run has written. */
export async function* outcomesIn(path: string): AsyncGenerator<Outcome> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line !== '') yield JSON.parse(line) as Outcome
  }
}
