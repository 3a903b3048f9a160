/**
 * Matches one pattern against one path (RFC 9309 §2.2.3). No regular expression, no backtracking: both are untrusted.
 *
 * A pattern is the bytes [start, end) of a buffer: `*` matches any bytes, anything else itself; `anchored` means that a `$` followed, so
 * that it must match the path to its end. Segments between stars are searched from left to right, each as early as possible; the last
 * segment of an anchored pattern is compared at the end of the path, so `/*.cgi$` matches /a.cgi/b.cgi.
 */
import { type EndOfNext, MAX_INDEXED_PATH, occurrencesIn } from './occurrences.ts'
import type { Path } from './path.ts'

// Defined here: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const STAR = 42

/** Steps of plain search per path before an index of its substrings is worth the time to make it (about 0.2 ms). */
const PLAIN_STEPS = 100_000

/**
 * The same for a path that is too long for an index: beyond it, the match is undecided (about 0.1 s). A path with 2,000 patterns, each
 * searched in 24 KiB of it, is still decided.
 */
const MOST_STEPS = 50_000_000

let steps = 0
let indexed: EndOfNext | undefined
/** The end of the pattern whose search was stopped; -1: none was. */
let open = -1

/** To be called for each new path. */
export function startPath(): void {
  steps = 0
  indexed = undefined
  open = -1
}

/** Number of bytes compared for the current path: tests check this against a bound, since times depend on the machine. */
export function stepsTaken(): number {
  return steps
}

/** Whether the search for the pattern that ends at `end` was stopped at MOST_STEPS, so that its match is undecided. */
export function staysOpen(end: number): boolean {
  return open === end
}

/** Whether the pattern matches the path from its first byte, if `anchored` to its end. */
export function matches(bytes: Uint8Array, start: number, end: number, anchored: boolean, path: Path): boolean {
  const target = path.bytes
  let at = 0
  for (; start < end; start++, at++) {
    const byte = bytes[start] as number
    // A star is checked first: under 'as-written' a path may contain one too, but the pattern's is a wildcard.
    if (byte === STAR) return matchesFromStar(bytes, start, end, anchored, path, at)
    if (byte !== target[at]) return false
  }
  return !anchored || at === path.length
}

/** Matches the rest of a pattern, which starts with a star, against the path from `at`. */
function matchesFromStar(
  bytes: Uint8Array,
  start: number,
  end: number,
  anchored: boolean,
  path: Path,
  at: number,
): boolean {
  const target = path.bytes
  let limit = path.length
  const whole = end
  steps += at
  if (anchored) {
    let tail = end
    while (bytes[tail - 1] !== STAR) tail--
    limit -= end - tail
    if (limit < at) return false
    for (let i = tail, j = limit; i < end; i++, j++) if (bytes[i] !== target[j]) return false
    end = tail
  }
  for (;;) {
    while (start < end && bytes[start] === STAR) start++
    if (start === end) return true
    let segmentEnd = start + 1
    while (segmentEnd < end && bytes[segmentEnd] !== STAR) segmentEnd++
    at = seek(bytes, start, segmentEnd, path, at, limit)
    if (at === UNKNOWN) open = whole
    if (at < 0) return false
    start = segmentEnd
  }
}

/** MOST_STEPS are used up. */
const UNKNOWN = -2

/** The index behind the first occurrence of a segment within [at, limit), or -1, or UNKNOWN. */
function seek(bytes: Uint8Array, start: number, end: number, path: Path, at: number, limit: number): number {
  const target = path.bytes
  const isLong = path.length > MAX_INDEXED_PATH
  const spent = isLong ? MOST_STEPS : PLAIN_STEPS
  const first = bytes[start] as number
  const lastAt = limit - (end - start)
  const from = at
  for (; steps <= spent; at++) {
    while (at <= lastAt && target[at] !== first) at++
    if (at > lastAt) {
      steps += Math.max(0, at - from)
      return -1
    }
    let i = start + 1
    let j = at + 1
    while (i < end && bytes[i] === target[j]) {
      i++
      j++
    }
    steps += i - start
    if (i === end) {
      steps += at - from
      return j
    }
  }
  if (isLong) return UNKNOWN
  indexed ??= occurrencesIn(target, path.length)
  const next = indexed(bytes, start, end, at)
  steps += end - start + (((next < 0 ? limit : next) - at) >> 5)
  return next > limit ? -1 : next
}
