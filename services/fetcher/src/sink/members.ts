/** Finds the complete gzip members of a WARC file: a killed writer's file may end anywhere. */

import { open } from 'node:fs/promises'
import { inflateRawSync } from 'node:zlib'
import { DECODED_MAX_BYTES } from '@decorum/sending'

/** Bytes of the file that are searched at a time; a larger member doubles this. */
const WINDOW_BYTES = 1024 * 1024
/** Lengths for gzip without optional fields, as zlib writes it: head, and check sum with length. */
const HEAD_BYTES = 10
const TAIL_BYTES = 8

/** Positions in bytes of the file; `content` is unpacked. */
export type Member = { offset: number; length: number; content: Buffer }

/** The members in order, up to the first incomplete or invalid one. */
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

/** The member at the start of `from`. */
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
    return undefined // the member is incomplete
  }
}
