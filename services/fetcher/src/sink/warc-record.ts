/** Packs one WARC record quickly into one gzip member. */

import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, gzip as gzipCallback, gzipSync } from 'node:zlib'
import { freeChunk } from '@decorum/sending/bodies'

const gzip = promisify(gzipCallback)

/** ASCII, or UTF-8 where the standard allows it. Line breaks become blanks: some values come from workers outside the fleet. */
export type WarcFields = readonly (readonly [name: string, value: string])[]

/** `store`: packing would save little, or the record is too small to be worth the time. `look`: a sample decides. */
export type Packing = 'pack' | 'store' | 'look'

export type RecordType = 'response' | 'revisit' | 'request' | 'metadata' | 'warcinfo'

/** Media type of each record type, by ISO 28500. */
const CONTENT_TYPES: Record<RecordType, string> = {
  response: 'application/http; msgtype=response',
  revisit: 'application/http; msgtype=response',
  request: 'application/http; msgtype=request',
  metadata: 'application/warc-fields',
  warcinfo: 'application/warc-fields',
}
const LINE_BREAK = /[\r\n]/
const LINE_BREAKS = /[\r\n]+/g
const RECORD_END = Buffer.from('\r\n\r\n')

export const newRecordId = (): string => `<urn:uuid:${randomUUID()}>`

/**
 * The block may be freed when this returns. It has no separate digest, because the check sum of the gzip member covers it.
 * @param date  ISO 8601
 */
export function packRecord(
  type: RecordType,
  id: string,
  date: string,
  fields: WarcFields,
  block: readonly Uint8Array[],
  packing: Packing,
): Uint8Array | Promise<Uint8Array> {
  let bytes = 0
  for (const chunk of block) bytes += chunk.length
  let head = `WARC/1.1\r\nWARC-Type: ${type}\r\nWARC-Record-ID: ${id}\r\nWARC-Date: ${date}\r\n`
  for (const [name, value] of fields)
    head += `${name}: ${LINE_BREAK.test(value) ? value.replace(LINE_BREAKS, ' ') : value}\r\n`
  head += `Content-Type: ${CONTENT_TYPES[type]}\r\nContent-Length: ${bytes}\r\n\r\n`
  return pack(Buffer.concat([Buffer.from(head), ...block, RECORD_END]), packing)
}

/** Smaller records are packed synchronously, because passing them to another thread costs more (decision 0013). */
const PACK_HERE_BYTES = 16 * 1024
/**
 * zlib settings for small records. A longer window would have no use, smaller tables are set up in two thirds of the time, and the
 * output needs no buffer of 16 KB outside the heap.
 */
const SMALL_BYTES = 4_096
const SMALL_TABLES = { level: 3, windowBits: 13, memLevel: 6, chunkSize: SMALL_BYTES }
/**
 * Fast rather than small: for HTML of 100 KB, level 3 makes 16 % more than zlib's default level in half the time (decision 0013).
 */
const LEVEL = 3
/** Output of a page of some hundred kilobytes fits, so one transfer from the other thread is enough. */
const OUT_BYTES = 64 * 1024

function pack(whole: Buffer, packing: Packing): Uint8Array | Promise<Uint8Array> {
  if (packing === 'store' || (packing === 'look' && !shrinks(whole))) return given(stored(whole), whole)
  if (whole.length <= SMALL_BYTES) return gzipSync(whole, SMALL_TABLES)
  if (whole.length <= PACK_HERE_BYTES) return given(gzipSync(whole, { level: LEVEL }), whole)
  return gzip(whole, { level: LEVEL, chunkSize: OUT_BYTES }).then((packed) => given(packed, whole))
}

const STORED_MAX_BYTES = 65_535
/** Head of gzip (RFC 1952) without optional fields, from an unknown system; and of a last stored block (RFC 1951, 3.2.4). */
const STORED_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1])

/** A gzip member of stored (uncompressed) blocks. A single block is written here: zlib takes ten times as long to set up its tables. */
function stored(whole: Buffer): Uint8Array {
  if (whole.length > STORED_MAX_BYTES) return gzipSync(whole, { level: 0, memLevel: 1 })
  const lengths = Buffer.allocUnsafe(4)
  lengths.writeUInt16LE(whole.length, 0)
  lengths.writeUInt16LE(whole.length ^ 0xffff, 2)
  const tail = Buffer.allocUnsafe(8)
  tail.writeUInt32LE(crc32(whole), 0)
  tail.writeUInt32LE(whole.length, 4)
  return Buffer.concat([STORED_HEAD, lengths, whole, tail])
}

/** No other reference to the record's memory exists, so it is freed at once, without waiting for a collection. */
function given(packed: Uint8Array, whole: Buffer): Uint8Array {
  freeChunk(whole)
  return packed
}

const SAMPLE_BYTES = 4_096

/** Whether a sample shrinks. The whole is not tried: gzip takes 3.9 ms for 100 KB of an image at zlib's default level, for nothing. */
function shrinks(whole: Buffer): boolean {
  const middle = whole.length >> 1
  const sample = whole.subarray(middle, middle + SAMPLE_BYTES)
  return gzipSync(sample, SMALL_TABLES).length <= sample.length * 0.95
}
