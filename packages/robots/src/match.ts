/**
 * One pattern × one path (RFC 9309 §2.2.3). No regular expression, no backtracking: both are written by strangers.
 *
 * A pattern is the octets [start, end) of a store: `*` any octets, `$` as the last octet the end of the path, anything
 * else itself. Segments between stars are sought from left to right, each as early as possible; the last segment of a
 * `…$` pattern is compared at the end of the path, so `/*.cgi$` matches /a.cgi/b.cgi.
 */
import { MAX_INDEXED_PATH, Occurrences } from './occurrences.ts'
import type { Path } from './path.ts'

// Of this module: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const DOLLAR = 36
const STAR = 42

/** Steps of plain search per path before an index of its substrings is worth its making (about 0.2 ms). */
const PLAIN_STEPS = 100_000

let steps = 0
let indexed: Occurrences | undefined

/** To be called when a new path was read. */
export function startPath(): void {
  steps = 0
  indexed = undefined
}

/** Octets looked at for the path at hand: what a test holds against a bound, since times depend on the machine. */
export function stepsTaken(): number {
  return steps
}

/** Does the pattern match the whole path from its first octet? The empty pattern never does. */
export function matchesPattern(octets: Uint8Array, start: number, end: number, path: Path): boolean {
  if (end === start) return false
  const target = path.octets
  const anchored = octets[end - 1] === DOLLAR
  const stop = anchored ? end - 1 : end
  let at = 0
  for (let i = start; i < stop; i++, at++) {
    const octet = octets[i] as number
    // First the star: under 'as-written' a path may hold one too, and the pattern's is still a wildcard.
    if (octet === STAR) {
      steps += at
      return matchesFromStar(octets, i, end, path, at)
    }
    if (octet !== target[at]) return false
  }
  return !anchored || at === path.length
}

/** The rest of a pattern, which starts with a star, against the path from `at`. */
function matchesFromStar(octets: Uint8Array, star: number, end: number, path: Path, at: number): boolean {
  const target = path.octets
  let limit = path.length
  let stop = end
  if (octets[end - 1] === DOLLAR) {
    let tail = end - 1
    while (octets[tail - 1] !== STAR) tail--
    limit -= end - 1 - tail
    if (limit < at) return false
    for (let i = tail, j = limit; i < end - 1; i++, j++) if (octets[i] !== target[j]) return false
    stop = tail
  }
  let start = star
  for (;;) {
    while (start < stop && octets[start] === STAR) start++
    if (start === stop) return true
    let segmentEnd = start + 1
    while (segmentEnd < stop && octets[segmentEnd] !== STAR) segmentEnd++
    at =
      steps < PLAIN_STEPS
        ? seek(octets, start, segmentEnd, path, at, limit)
        : seekIndexed(octets, start, segmentEnd, path, at, limit)
    if (at < 0) return false
    start = segmentEnd
  }
}

/** The index behind the first occurrence of a segment within [at, limit), or -1. */
function seek(octets: Uint8Array, start: number, end: number, path: Path, at: number, limit: number): number {
  const target = path.octets
  const first = octets[start] as number
  const lastAt = limit - (end - start)
  const from = at
  for (; at <= lastAt; at++) {
    if (target[at] !== first) continue
    let i = start + 1
    let j = at + 1
    while (i < end && octets[i] === target[j]) {
      i++
      j++
    }
    if (i === end) {
      steps += at - from + 1
      return j
    }
    steps += i - start
    if (steps > PLAIN_STEPS && path.length <= MAX_INDEXED_PATH) return seekIndexed(octets, start, end, path, at, limit)
  }
  steps += Math.max(0, at - from)
  return -1
}

function seekIndexed(octets: Uint8Array, start: number, end: number, path: Path, at: number, limit: number): number {
  if (path.length > MAX_INDEXED_PATH) return seek(octets, start, end, path, at, limit)
  indexed ??= new Occurrences(path.octets, path.length)
  steps += end - start
  const next = indexed.endOfNext(octets, start, end, at)
  return next > limit ? -1 : next
}
