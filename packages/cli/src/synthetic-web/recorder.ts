/** Writes the record of docs/audit.md, in the order of ends. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { RequestLine, RobotsLine } from '@decorum/audit'

export type Recorder = Awaited<ReturnType<typeof openRecorder>>

/** @throws Error of node:fs when the file cannot be written; an existing file is continued */
export async function openRecorder(path: string) {
  const file = createWriteStream(path, { flags: 'a' }) // while one write is made, the lines that follow are gathered for the next
  await once(file, 'open')
  const hashes = new Map<string, string>()
  let lines = 0
  const add = (line: RequestLine | RobotsLine) => {
    lines++
    file.write(`${JSON.stringify(line)}\n`)
  }
  return {
    request: (line: RequestLine): void => add(line),
    /** @returns the hash that request lines name this body by; the body itself is written once */
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
