/** Converts a URL to the bytes that patterns are compared with: path and query, without scheme, authority and fragment. */
import { COLON, hexDigit, hexValue, isUnreserved, PERCENT, PLAIN, STAR, textOf } from './bytes.ts'
import type { Reading } from './readings.ts'

// Defined here: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const HASH = 35
const SLASH = 47

/**
 * A literal star: `%2A` in a pattern or `*` in a URL. This byte occurs in no UTF-8 text, so it can represent the literal star on both
 * sides, and a pattern's 0x2A stays the wildcard.
 */
const LITERAL_STAR = 0xff

/** Index of the first byte of path or query, or -1 when there is none: then the path is '/'. */
function pathStart(url: string): number {
  const length = url.length
  const first = url.charCodeAt(0)
  if (first === SLASH && url.charCodeAt(1) !== SLASH) return 0
  // The usual prefixes need no search.
  const usual = url.startsWith('https://') ? 8 : url.startsWith('http://') ? 7 : 0
  if (usual > 0) return authorityEnd(url, usual, length)
  const searchStart = first === SLASH ? 2 : 0
  const at = authorityEnd(url, searchStart, length)
  // The authority starts at '://', unless part of a path precedes it.
  if (at > searchStart && url.charCodeAt(at - 1) === COLON && url.startsWith('//', at))
    return authorityEnd(url, at + 2, length)
  return at
}

/** The first '/', '?' or ';' at `at` or later; -1 when a fragment or the end comes first. */
function authorityEnd(url: string, at: number, length: number): number {
  for (; at < length; at++) {
    const code = url.charCodeAt(at)
    if (code >= 64) continue
    if (code === SLASH || code === 63 || code === 59) return at
    if (code === HASH) return -1
  }
  return -1
}

/** Whether this is the robots.txt of its origin: exactly this path, without a query. */
export function isRobotsTxt(url: string): boolean {
  const start = pathStart(url)
  if (start < 0 || !url.startsWith('/robots.txt', start)) return false
  const end = start + 11
  return url.length === end || url.charCodeAt(end) === HASH
}

/** A segment '.' or '..' (also as %2e), or a back-slash: the URL standard (WHATWG) changes these. */
const UNTIDY = /[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)|\\/i
/** Characters that the URL standard drops: tabs and line ends anywhere; at the end also blanks and controls. */
// oxlint-disable-next-line no-control-regex -- these are meant
const DROPPED = /[\t\n\r]|[\0-\x20]$/

function isUntidy(url: string): boolean {
  return UNTIDY.test(url.split('?', 1)[0] as string) || DROPPED.test(url)
}

/** The URL in WHATWG form: a rule for /b must apply to /a/../b, because /b is what would be fetched. */
function tidied(url: string): string {
  try {
    const tidy = new URL(url, 'http://host')
    tidy.hash = ''
    return tidy.href
  } catch {
    return url // not a URL by the WHATWG standard, so it cannot be fetched; it is matched unchanged
  }
}

/** The byte behind the last one of a path: no pattern contains it, so every comparison ends there. */
const END = 0xfe

const DOT = 46
const BACKSLASH = 92

/** By ASCII byte, 1: copied unchanged, for every encoding and in every context. One lookup is a quarter faster than a few comparisons. */
const TAKEN = /* @__PURE__ */ PLAIN.slice(0, 0x80)
  .fill(0, STAR, STAR + 1)
  .fill(0, DOT, DOT + 1)

/** Size of the buffer, bytes: enough for the longest path of most sites. A larger buffer is released with the next path. */
const USUAL_ROOM = 4_096

/** One path at a time, in bytes that are reused for the next one. */
export class Path {
  bytes: Uint8Array = new Uint8Array(USUAL_ROOM)
  length = 0

  /**
   * Reads the path of a URL. 'unreserved', as RFC 9309 §2.2.2: unreserved characters decoded, reserved ones unchanged, all others encoded,
   * hexadecimal digits in upper case. 'as-written', as google/robotstxt: the bytes of the URL, unchanged. Cost: one pass over the URL, and
   * no allocation.
   */
  read(url: string, encoding: Reading['encoding']): void {
    const start = pathStart(url)
    const end = start < 0 ? 0 : url.length
    const most = (url.length - Math.max(start, 0)) * 9 + 2 // each UTF-16 unit gives at most %XX%XX%XX
    if (most > this.bytes.length) this.bytes = new Uint8Array(most)
    else if (this.bytes.length > USUAL_ROOM && most <= USUAL_ROOM) this.bytes = new Uint8Array(USUAL_ROOM)
    const { bytes } = this
    const raw = encoding === 'as-written'
    let doubtful = !raw && start < 0 && url.includes('\\')
    bytes[0] = SLASH
    let length = start >= 0 && url.charCodeAt(start) === SLASH ? 0 : 1
    for (let at = start; at >= 0 && at < end; at++) {
      const code = url.charCodeAt(at)
      if (code < 0x80 && TAKEN[code] === 1) bytes[length++] = code
      else if (code === HASH || (raw && code === 0)) break // a NUL ends it, as it ends a C string
      else if (code >= 0x80) {
        // The whole character; the encoder makes U+FFFD of a lone surrogate.
        const character = String.fromCodePoint(url.codePointAt(at) as number)
        at += character.length - 1
        for (const byte of encoder.encode(character)) {
          if (raw) bytes[length++] = byte
          else length = putPercent(bytes, length, byte)
        }
      } else if (raw) bytes[length++] = code
      else if (code === STAR) bytes[length++] = LITERAL_STAR
      else if (code === DOT) {
        bytes[length++] = DOT
        // A dot behind a slash (and below a back-slash, a blank or a control) is rare, so then the whole URL is checked.
        if (bytes[length - 2] === SLASH) doubtful = true
      } else if (code === PERCENT) {
        const high = hexValue(url.charCodeAt(at + 1))
        const low = hexValue(url.charCodeAt(at + 2))
        if (high < 0) length = putPercent(bytes, length, PERCENT) // '%G1' is a plain percent sign, so it is encoded
        else if (low < 0) bytes[length++] = PERCENT // so is that of '%1', but it stays, because a pattern may end within an encoded byte
        else {
          length = putEncoded(bytes, length, high * 16 + low)
          if (bytes[length - 1] === DOT && bytes[length - 2] === SLASH) doubtful = true
          at += 2
        }
      } else {
        length = putPercent(bytes, length, code)
        if (code <= 32 || code === BACKSLASH) doubtful = true
      }
    }
    this.length = length
    bytes[length] = END
    if (doubtful && isUntidy(url)) {
      const tidy = tidied(url)
      if (!isUntidy(tidy)) this.read(tidy, encoding)
    }
  }
}

/** A path as it is compared, as text for people. */
export function textOfPath(path: Path): string {
  const shown = path.bytes.slice(0, path.length).map((byte) => (byte === LITERAL_STAR ? STAR : byte))
  return textOf(shown, 0, shown.length)
}

const encoder = /* @__PURE__ */ new TextEncoder()

/** Writes a byte as %XX. Returns the position behind it. */
export function putPercent(bytes: Uint8Array, at: number, value: number): number {
  bytes[at++] = PERCENT
  bytes[at++] = hexDigit(value >> 4)
  bytes[at++] = hexDigit(value & 15)
  return at
}

/** Writes a byte that was %-encoded in the form that is compared under 'unreserved'. Returns the position behind it. */
export function putEncoded(bytes: Uint8Array, at: number, value: number): number {
  if (value === STAR) bytes[at++] = LITERAL_STAR
  else if (value === 36 || isUnreserved(value)) bytes[at++] = value
  else at = putPercent(bytes, at, value)
  return at
}
