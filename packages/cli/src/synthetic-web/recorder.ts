/** Writes the record of requests (docs/audit.md), in the order in which they ended. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { RequestLine, RobotsLine } from '@decorum/audit'

export type Recorder = Awaited<ReturnType<typeof openRecorder>>

/** Appends to an existing file. @throws Error of node:fs when the file cannot be written */
export async function openRecorder(path: string) {
  const file = createWriteStream(path, { flags: 'a' }) // lines added during a write are collected for the next one
  await once(file, 'open')
  const hashes = new Map<string, string>()
  let lines = 0
  const add = (line: RequestLine | RobotsLine) => {
    lines++
    file.write(`${JSON.stringify(line)}\n`)
  }
  return {
    request: (line: RequestLine): void => add(line),
    /** Writes each body once. @returns the hash by which request lines refer to this body */
    robots(body: string): string {
      let hash = hashes.get(body)
      if (hash === undefined) {
        hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
        hashes.set(body, hash)
        add({ kind: 'robots', hash, body })
      }
      return hash
    },
    /** Resolves when all that was recorded so far is in the file. */
    flush: () => new Promise<void>((resolve) => file.write('', () => resolve())),
    /** @returns the number of lines, once all of them are in the file */
    async close(): Promise<number> {
      file.end()
      await finished(file)
      return lines
    },
  }
}
