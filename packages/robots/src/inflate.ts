/**
 * Unpacks gzip and deflate (RFC 1952, RFC 1951), for a robots.txt that is packed without a Content-Encoding. Written here because the
 * package has no dependency and parses synchronously, which no browser's own decompressor does. Bounded in input and output; never throws.
 * Huffman codes are decoded canonically, bit by bit: a robots.txt is small.
 */

/** Most blocks that are read: each may cost a table and produce no byte. A robots.txt has one or a few. */
const MAX_BLOCKS = 4_096

const GZIP_HEADER = 10
const TRAILER = 8
const FLAG_HEADER_CRC = 2
const FLAG_EXTRA = 4
const FLAG_NAME = 8
const FLAG_COMMENT = 16

/** Lengths and distances: the base of each symbol, and its number of extra bits (RFC 1951 §3.2.5). */
const LENGTH_BITS = /* @__PURE__ */ [...'0000000011112222333344445550'].map(Number)
const DISTANCE_BITS = /* @__PURE__ */ Array.from({ length: 30 }, (_, symbol) => Math.max(0, (symbol >> 1) - 1))
const LENGTHS = /* @__PURE__ */ [...bases(LENGTH_BITS, 3).slice(0, 28), 258]
const DISTANCES = /* @__PURE__ */ bases(DISTANCE_BITS, 1)
/** The order in which the lengths of the code length codes are stored (RFC 1951 §3.2.7). */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

function bases(bits: readonly number[], first: number): number[] {
  const all: number[] = []
  for (const each of bits) {
    all.push(first)
    first += 1 << each
  }
  return all
}

/** A canonical code: the number of codes of each length, and the symbols in their order. */
type Code = { readonly counts: Uint16Array; readonly symbols: Uint16Array }

function codeOf(lengths: ArrayLike<number>, from: number, end: number): Code {
  const counts = new Uint16Array(16)
  const symbols = new Uint16Array(end - from)
  for (let at = from; at < end; at++) (counts[lengths[at] as number] as number)++
  counts[0] = 0
  const next = new Uint16Array(16)
  for (let length = 1; length < 16; length++)
    next[length] = (next[length - 1] as number) + (counts[length - 1] as number)
  for (let at = from; at < end; at++) {
    const length = lengths[at] as number
    if (length > 0) symbols[(next[length] as number)++] = at - from
  }
  return { counts, symbols }
}

export interface Inflated {
  readonly bytes: Uint8Array
  /** whether the last block of the last member was read to its end */
  readonly whole: boolean
}

/** @param most  bytes that are wanted; later ones are not unpacked, and the file then counts as whole */
export function gunzip(packed: Uint8Array, most: number): Inflated {
  let out = new Uint8Array(Math.min(most, Math.max(1_024, packed.length * 4)))
  let written = 0
  let at = 0
  let bitsLeft = 0
  let bitsHeld = 0
  /** Whether the input has ended: from then on zeros are read, and nothing more is written. */
  let ended = false
  /** where the output of this member begins */
  let memberStart = 0

  const bits = (count: number): number => {
    while (bitsHeld < count) {
      if (at >= packed.length) ended = true
      bitsLeft |= (packed[at++] ?? 0) << bitsHeld
      bitsHeld += 8
    }
    const value = bitsLeft & ((1 << count) - 1)
    bitsLeft >>>= count
    bitsHeld -= count
    return value
  }
  /** The next symbol; -1: no code matches. */
  const symbol = ({ counts, symbols }: Code): number => {
    let code = 0
    let first = 0
    let index = 0
    for (let length = 1; length < 16; length++) {
      code |= bits(1)
      const count = counts[length] as number
      if (code - count < first) return symbols[index + code - first] as number
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    return -1
  }
  const put = (byte: number): void => {
    if (written === out.length) {
      const more = new Uint8Array(Math.min(most, out.length * 2))
      more.set(out)
      out = more
    }
    out[written++] = byte
  }
  /** Copies a stored block; false: it cannot be read. */
  const stored = (): boolean => {
    at -= bitsHeld >> 3
    bitsLeft = bitsHeld = 0
    const length = bits(16)
    if (length !== (bits(16) ^ 0xffff)) return false
    for (let left = length; left > 0 && written < most; left--) {
      if (at >= packed.length) return false
      put(packed[at++] as number)
    }
    return true
  }
  const coded = (literals: Code, distances: Code): boolean => {
    while (written < most) {
      const next = symbol(literals)
      if (ended || next < 0 || next > 285) return false
      if (next === 256) return true
      if (next < 256) put(next)
      else {
        const length = (LENGTHS[next - 257] as number) + bits(LENGTH_BITS[next - 257] ?? 0)
        const which = symbol(distances)
        if (which < 0 || which > 29) return false
        const back = (DISTANCES[which] as number) + bits(DISTANCE_BITS[which] as number)
        if (ended || back > written - memberStart) return false
        for (let left = length; left > 0 && written < most; left--) put(out[written - back] as number)
      }
    }
    return true
  }
  const described = (): [Code, Code] | undefined => {
    const literals = bits(5) + 257
    const distances = bits(5) + 1
    const described = bits(4) + 4
    const lengths = new Uint8Array(literals + distances)
    const own = new Uint8Array(19)
    for (let i = 0; i < described; i++) own[ORDER[i] as number] = bits(3)
    const code = codeOf(own, 0, 19)
    for (let i = 0; i < lengths.length;) {
      const next = symbol(code)
      if (ended || next < 0 || (next === 16 && i === 0)) return undefined
      const value = next < 16 ? next : next === 16 ? (lengths[i - 1] as number) : 0
      const times = next < 16 ? 1 : next === 16 ? 3 + bits(2) : next === 17 ? 3 + bits(3) : 11 + bits(7)
      for (let left = times; left > 0 && i < lengths.length; left--) lengths[i++] = value
    }
    return [codeOf(lengths, 0, literals), codeOf(lengths, literals, lengths.length)]
  }

  at = headerEnd(packed, 0)
  let whole = false
  for (let block = 0; block < MAX_BLOCKS && written < most && !ended; block++) {
    const isLast = bits(1) === 1
    const kind = bits(2)
    const codes = kind === 1 ? FIXED : kind === 2 ? described() : undefined
    const isRead = kind === 0 ? stored() : codes !== undefined && coded(codes[0], codes[1])
    if (!isRead || ended) break
    whole = isLast
    if (!isLast) continue
    at += TRAILER - (bitsHeld >> 3)
    if (!isMember(packed, at)) break
    whole = false
    bitsLeft = bitsHeld = 0
    memberStart = written
    at = headerEnd(packed, at)
  }
  return { bytes: out.subarray(0, written), whole: whole || written >= most }
}

const FIXED: readonly [Code, Code] = /* @__PURE__ */ (() => {
  const lengths = new Uint8Array(288)
  lengths.fill(8, 0, 144).fill(9, 144, 256).fill(7, 256, 280).fill(8, 280)
  return [codeOf(lengths, 0, 288), codeOf(new Uint8Array(30).fill(5), 0, 30)] as const
})()

/** Whether another member begins at `at` (RFC 1952 §2.2). A cut header counts as one, so that the file is not taken for whole. */
function isMember(packed: Uint8Array, at: number): boolean {
  if (packed[at] !== 0x1f || packed[at + 1] !== 0x8b) return false
  return at + GZIP_HEADER > packed.length || (packed[at + 2] === 8 && ((packed[at + 3] as number) & 0xe0) === 0)
}

/** The end of the header of the gzip member that begins at `start` (RFC 1952 §2.3). */
function headerEnd(packed: Uint8Array, start: number): number {
  const flags = packed[start + 3] ?? 0
  let at = start + GZIP_HEADER
  if ((flags & FLAG_EXTRA) !== 0) at += 2 + (packed[at] ?? 0) + ((packed[at + 1] ?? 0) << 8)
  for (const flag of [FLAG_NAME, FLAG_COMMENT])
    if ((flags & flag) !== 0) {
      while (at < packed.length && packed[at] !== 0) at++
      at++
    }
  return (flags & FLAG_HEADER_CRC) !== 0 ? at + 2 : at
}
