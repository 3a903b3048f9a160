/** How far the file of a killed writer can be read: the end of its last complete gzip member. */
import { open } from 'node:fs/promises'
import { inflateRawSync } from 'node:zlib'
import { DECODED_MAX_BYTES } from '../limits.ts'

/** Members are looked for in so much of the file at a time; one that is larger doubles it. */
const WINDOW_BYTES = 1024 * 1024
/** Of gzip without optional fields, as zlib writes it; and its check sum and length. */
const HEAD_BYTES = 10
const TAIL_BYTES = 8

export async function completeBytes(path: string): Promise<number> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    let done = 0
    let windowBytes = WINDOW_BYTES
    while (done < size) {
      const window = Buffer.alloc(Math.min(windowBytes, size - done))
      const { bytesRead } = await file.read(window, 0, window.length, done)
      const bytes = membersIn(window.subarray(0, bytesRead))
      if (bytes > 0) windowBytes = WINDOW_BYTES
      else if (done + bytesRead >= size) break
      else windowBytes *= 2
      done += bytes
    }
    return done
  } finally {
    await file.close()
  }
}

/** Bytes of the complete members at the beginning of `window`. */
function membersIn(window: Buffer): number {
  let at = 0
  for (;;) {
    const bytes = memberBytes(window.subarray(at))
    if (bytes === undefined) return at
    at += bytes
  }
}

function memberBytes(from: Buffer): number | undefined {
  if (from.length <= HEAD_BYTES + TAIL_BYTES || from[0] !== 0x1f || from[1] !== 0x8b || from[3] !== 0) return undefined
  try {
    const { buffer, engine } = inflateRawSync(from.subarray(HEAD_BYTES), {
      info: true,
      maxOutputLength: 2 * DECODED_MAX_BYTES,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
    const end = HEAD_BYTES + engine.bytesWritten + TAIL_BYTES
    return end <= from.length && from.readUInt32LE(end - 4) === buffer.length % 2 ** 32 ? end : undefined
  } catch {
    return undefined // it is cut off
  }
}
