/**
 * The body of a robots.txt as it is stored: deflated if that is shorter. For a hundred million origins the bodies are most of the content
 * of Redis (docs/scale.md). The first byte, 0 or 1, gives the form. No text begins with these: a body without them was stored
 * uncompressed by an earlier version.
 */
import { promisify } from 'node:util'
import { constants, deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { ROBOTS_MAX_BYTES } from '@decorum/robots'

/** Largest inflated body, in bytes: a file is cut near ROBOTS_MAX_BYTES before it is stored. */
const MOST = 2 * ROBOTS_MAX_BYTES

const PLAIN = 0
const DEFLATED = 1
/** Raw deflate of level 9: an origin's file is written once a day and kept for a month. */
const LEVEL = constants.Z_BEST_COMPRESSION

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/**
 * Bodies up to this size are compressed in this thread: that takes 6 µs for a usual file, and passing it to another thread 20 µs
 * (measured).
 */
const HERE_BYTES = 16_384

export async function writeBody(bytes: Uint8Array): Promise<Buffer> {
  const here = bytes.length <= HERE_BYTES
  const deflated = here ? deflateRawSync(bytes, { level: LEVEL }) : await deflate(bytes, { level: LEVEL })
  const isShorter = deflated.length < bytes.length
  return Buffer.concat([Buffer.of(isShorter ? DEFLATED : PLAIN), isShorter ? deflated : bytes])
}

/** @returns  undefined for a body that cannot be read: its rules are lost, and the robots.txt is fetched again */
export async function readBody(stored: Buffer): Promise<Uint8Array | undefined> {
  const rest = stored.subarray(1)
  if (stored[0] === PLAIN) return rest
  if (stored[0] !== DEFLATED) return stored
  const most = { maxOutputLength: MOST }
  try {
    return stored.length <= HERE_BYTES ? inflateRawSync(rest, { ...most, chunkSize: 4_096 }) : await inflate(rest, most)
  } catch {
    return undefined
  }
}
