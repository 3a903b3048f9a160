/** The gzip members of a WARC file, as far as they are complete: a killed writer's file may end anywhere. */

import { open } from 'node:fs/promises'
import { inflateRawSync } from 'node:zlib'
import { DECODED_MAX_BYTES } from '@decorum/sending'

/** Members are looked for in so much of the file at a time; one that is larger doubles it. */
const WINDOW_BYTES = 1024 * 1024
/** Of gzip without optional fields, as zlib writes it; and its check sum and length. */
const HEAD_BYTES = 10
const TAIL_BYTES = 8

/** In bytes of the file; `content` is unpacked. */
export type Member = { offset: number; length: number; content: Buffer }

/** In their order, up to the first one that is cut off or is none. */
export async function* completeMembers(path: string): AsyncGenerator<Member> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    let done = 0
    let windowBytes = WINDOW_BYTES
    while (done < size) {
      const window = Buffer.alloc(Math.min(windowBytes, size - done))
      const { bytesRead } = await file.read(window, 0, window.length, done)
      let at = 0
      for (;;) {
        const member = memberIn(window.subarray(at, bytesRead))
        if (member === undefined) break
        yield { offset: done + at, ...member }
        at += member.length
      }
      if (at > 0) windowBytes = WINDOW_BYTES
      else if (done + bytesRead >= size) return
      else windowBytes *= 2
      done += at
    }
  } finally {
    await file.close()
  }
}

/** The one that `from` begins with. */
function memberIn(from: Buffer): Omit<Member, 'offset'> | undefined {
  if (from.length <= HEAD_BYTES + TAIL_BYTES || from[0] !== 0x1f || from[1] !== 0x8b || from[3] !== 0) return undefined
  try {
    const { buffer, engine } = inflateRawSync(from.subarray(HEAD_BYTES), {
      info: true,
      maxOutputLength: 2 * DECODED_MAX_BYTES,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
    const length = HEAD_BYTES + engine.bytesWritten + TAIL_BYTES
    const isWhole = length <= from.length && from.readUInt32LE(length - 4) === buffer.length % 2 ** 32
    return isWhole ? { length, content: buffer } : undefined
  } catch {
    return undefined // it is cut off
  }
}
