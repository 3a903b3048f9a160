/** SHA-1 digests for archives. */
import { createHash, hash, webcrypto } from 'node:crypto'

/**
 * Larger bodies are digested in a thread of libuv's pool: 100 KB then cost the event loop 14 µs instead of 48 µs
 * (bench `fetch`, bodies of 100 KB). For smaller ones the hand-over costs as much as it saves: 6 µs and a copy, against 0.5 µs per KB.
 */
const ASIDE_BYTES = 32 * 1024
/** Chunks are joined in this buffer. One buffer serves all bodies, because the pool's job copies it before the call returns. */
const joined = Buffer.allocUnsafeSlow(160 * 1024)

/** SHA-1 of the chunks in order. The chunks may be freed when this returns; the digest may be a promise. */
export function sha1(chunks: readonly Uint8Array[]): Uint8Array | Promise<Uint8Array> {
  let bytes = 0
  for (const chunk of chunks) bytes += chunk.length
  if (bytes > joined.length) return inPieces(chunks)
  const whole = chunks.length === 1 && bytes < ASIDE_BYTES ? (chunks[0] ?? joined) : join(chunks, bytes)
  if (bytes >= ASIDE_BYTES) return webcrypto.subtle.digest('SHA-1', whole).then((digest) => new Uint8Array(digest))
  // A string first: a Buffer result allocates memory outside the heap, which costs as much as digesting 1 KB.
  return Buffer.from(hash('sha1', whole, 'binary'), 'latin1')
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.length
  }
  return joined.subarray(0, bytes)
}

function inPieces(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = createHash('sha1')
  for (const chunk of chunks) whole.update(chunk)
  return whole.digest()
}
