/** Writes the record of docs/audit.md: buffered, in the order of ends, on disk every 200 ms and at the end. */
import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { RequestLine, RobotsLine } from '@decorum/audit'

const FLUSH_MS = 200
/** Between two timers a busy site may write this much: then a flush is due at once. */
const FLUSH_LINES = 2_000

export type Recorder = {
  request(line: RequestLine): void
  /** @returns the hash that request lines name this body by; the body itself is written once */
  robots(body: string): string
  /** resolves when all that was recorded so far is in the file */
  flush(): Promise<void>
  close(): Promise<void>
  readonly lines: number
}

/** @throws Error of node:fs when the file cannot be written; an existing file is continued */
export async function openRecorder(path: string): Promise<Recorder> {
  const file: FileHandle = await open(path, 'a')
  const hashes = new Map<string, string>()
  let pending: string[] = []
  let lines = 0
  let writing: Promise<unknown> = Promise.resolve()

  const flush = async (): Promise<void> => {
    if (pending.length > 0) {
      const text = `${pending.join('\n')}\n`
      pending = []
      writing = writing.then(() => file.appendFile(text))
    }
    await writing
  }
  const add = (line: RequestLine | RobotsLine): void => {
    lines++
    if (pending.push(JSON.stringify(line)) === FLUSH_LINES) void flush()
  }
  const timer = setInterval(() => void flush(), FLUSH_MS)
  return {
    request: add,
    robots: (body) => {
      let hash = hashes.get(body)
      if (hash === undefined) {
        hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
        hashes.set(body, hash)
        add({ kind: 'robots', hash, body })
      }
      return hash
    },
    flush,
    close: async () => {
      clearInterval(timer)
      await flush()
      await file.close()
    },
    get lines() {
      return lines
    },
  }
}
