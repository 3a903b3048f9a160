/**
 * Bytes → lines → the entries of a file, in one pass (RFC 9309 §2.2, §2.5; line for line like google/robotstxt).
 *
 * A line in the usual form, with its field spelt correctly and the colon directly behind it, takes a short path. A line that begins with no
 * letter of a field name is skipped unread. Every other line goes through `readLine`, which is the definition. Never throws, whatever the
 * bytes. Parsing is synchronous, so its state belongs to the module and is reused.
 */

import { COLON, FF, isTokenByte, NUL, PLAIN, STAR, textOf, VT } from './bytes.ts'
import { delaySeconds, isRelativeUrl, isSitemapUrl, spellingAt } from './fields.ts'
import { MAX_LINE_BYTES, MAX_RECORDS, MAX_RULES, MAX_WARNINGS } from './limits.ts'
import { type Grammar, isBlank, isLineEnd, readLine } from './line.ts'
import {
  AGENT_WITH_EXTRA,
  AGENT_WITHOUT_NAME,
  CRAWL_DELAY_UNUSABLE,
  DELAY_BEFORE_GROUP,
  LINE_TOO_LONG,
  MISSING_COLON,
  MISSPELT_FIELD,
  NO_FIELD,
  OVER_LIMIT,
  PATTERN_NOT_ENCODED,
  PATTERN_WITHOUT_SLASH,
  RULE_BEFORE_GROUP,
  SITEMAP_RELATIVE,
  SITEMAP_UNUSABLE,
  TOO_MANY_RULES,
  UNREACHABLE_GROUP,
} from './notes.ts'
import { holdsNoUrl, lacksSlash } from './patterns.ts'
import {
  AGENT,
  ALLOW,
  BITS,
  DELAY,
  FIRST,
  NOTE,
  NOTE_BITS,
  OTHER,
  type RobotsFile,
  SITEMAP,
  VALUE,
} from './robots-file.ts'
import { load, type RobotsSource } from './source.ts'

// Defined here: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const CR = 13
const HASH = 35
const LF = 10
const QUOTE = 39
const SPACE = 32
const TAB = 9

/** Number of bytes of a line in a note: one more than is quoted, so that a quote shows whether it was cut. */
export const MAX_NOTED = 61

/** One bit for each value that the lowest five bits of a byte above QUOTE have if it is not PLAIN; few PLAIN bytes have these values. */
const MAY_BE_SPECIAL = 1 | (1 << 27) | (1 << 28) | (1 << 29) | (1 << 30) | (1 << 31)

// The source; it has a line end at `length`.
let bytes: Uint8Array
let words: Int32Array
let grammar: Grammar

// The entries so far; their memory is reused for every file.
let texts = /* @__PURE__ */ new Uint8Array(0)
let marks = /* @__PURE__ */ new Int32Array(512)
let used: number
let entries: number
let encoded: boolean
let disputed: boolean
/** Whether the last copied text may contain '%' or a byte that no URL contains. */
let special: boolean

/** The current line, 1-based. */
let line: number
/** Whether the file is a page of HTML, or no text at all: then it gets one warning, and its lines get none. */
let quiet: boolean
/** The sitemap lines [runAt, runEnd) that will be the next entry; runEnd is -3 when there are none. */
let runAt: number
let runEnd: number
let noted: number
let rules: number
let records: number
/** Number of sitemaps that are no absolute URLs. */
let relatives: number
/** The line where the last block begins, 0 before the first; while it is open, user-agent lines still join it. */
let blockLine: number
let open: boolean
/** Flags of the block's empty rules: 1 a disallow, 2 an allow. The first of each is kept, because it may be reported. */
let empties: number
/** Whether the block has a name that a crawler can have. */
let reachable: boolean

/** Returns the number of a warning if the bytes [at, end) are no robots.txt, else undefined. */
export type ContentOf = (bytes: Uint8Array, at: number, end: number) => number | undefined

/**
 * Parses a file.
 * @param truncated  it was cut by its reader, so a last line without a line end is dropped
 * @param contentOf  given when warnings are wanted
 */
export function readFile(source: RobotsSource, truncated: boolean, by: Grammar, contentOf?: ContentOf): RobotsFile {
  const loaded = load(source, truncated, by)
  const { length } = loaded
  bytes = loaded.bytes
  words = loaded.words
  grammar = by
  const room = bytes.length + MAX_NOTED * MAX_WARNINGS
  if (texts.length < room) texts = new Uint8Array(room)
  used = entries = noted = rules = records = relatives = blockLine = empties = 0
  runEnd = -3
  encoded = disputed = open = false
  reachable = true
  line = 1

  // Skips a byte order mark, or the beginning of one, as google/robotstxt does.
  let at = 0
  for (const mark of BYTE_ORDER_MARK)
    if (at < length && bytes[at] === mark) at++
    else break
  const content = contentOf?.(bytes, at, length)
  quiet = content !== undefined || (loaded.form !== undefined && by === 'google')
  if (loaded.form !== undefined) note(loaded.form)
  if (content !== undefined) note(content)
  readLines(at, length)
  if (loaded.cut) note(OVER_LIMIT)
  endBlock()
  endRun()

  return {
    grammar,
    source: loaded.packed ?? (disputed ? bytes.slice(0, length) : undefined),
    truncated: loaded.packed !== undefined && truncated,
    bytes: texts.slice(0, used),
    marks: marks.slice(0, 2 * entries + 1),
    encoded,
    noted,
  }
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

function readLines(at: number, length: number): void {
  const from = bytes
  for (; at < length; line++) {
    const lineAt = at
    let byte = from[at] as number
    while (byte === SPACE || byte === TAB) byte = from[++at] as number
    if (byte === HASH) at = lineEnd(at)
    else if (byte !== LF && byte !== CR) at = recordAt(lineAt, at, byte)
    if (at - lineAt > MAX_LINE_BYTES) note(LINE_TOO_LONG)
    // CR LF is one line end; LF CR is two, with an empty line between them.
    at += from[at] === CR && from[at + 1] === LF ? 2 : 1
  }
  // `line` counts as editors do: behind a final line end there is one more, empty line.
}

/** The next line end at `at` or later. */
function lineEnd(at: number): number {
  at = nextBelow(at, CR + 1)
  while (!isLineEnd(bytes[at])) at = nextBelow(at + 1, CR + 1)
  return at
}

/** Index of the next byte below `limit`, at `at` or later. Searches four bytes at a time, at most to the line end behind the source. */
function nextBelow(at: number, limit: number): number {
  const one = bytes
  const four = words
  for (; (at & 3) !== 0; at++) if ((one[at] as number) < limit) return at
  // The expression is not 0 if one of the four bytes is below the limit, which is at most 128: it then has the highest bit of a byte set.
  const limits = limit * 0x01010101
  let word = at >> 2
  for (let each = four[word] as number; ((each - limits) & ~each & -0x7f7f7f80) === 0;) each = four[++word] as number
  at = word << 2
  while ((one[at] as number) >= limit) at++
  return at
}

/** Parses a line whose first non-blank byte is at `at`. Returns the index of its end. */
function recordAt(lineAt: number, at: number, first: number): number {
  const from = bytes
  const spelling = spellingAt(from, at)
  if (spelling === undefined) {
    // Under 'google' these are blanks, or the end of the line.
    if (first === NUL || first === VT || first === FF) return anyLine(lineAt)
    const end = lineEnd(at)
    // Beyond the limit the rest of a line counts as blank.
    if (!quiet && at - lineAt < MAX_LINE_BYTES) note(NO_FIELD, at, Math.min(end, lineAt + MAX_LINE_BYTES))
    return end
  }
  at += spelling.bytes.length
  if (from[at] !== COLON || !spelling.right || spelling.field > SITEMAP) return anyLine(lineAt)
  let byte = from[++at] as number
  while (byte === SPACE || byte === TAB) byte = from[++at] as number
  const valueAt = at
  if (spelling.field === SITEMAP) {
    // In the usual form the first byte below '$' is the line end.
    const end = nextBelow(at, 36)
    if (!isLineEnd(from[end]) || end - lineAt > MAX_LINE_BYTES || !isSitemapUrl(from, at, end)) return anyLine(lineAt)
    if (lineAt > runEnd + 2) {
      endRun()
      runAt = lineAt
    }
    runEnd = end
    return end
  }
  let encodes = false
  /** Index of the first blank from the value on; lineAt + MAX_LINE_BYTES: there is none. */
  let blankAt = lineAt + MAX_LINE_BYTES
  /** Mask of the bytes above QUOTE so far, by their lowest five bits. */
  let seen = 0
  const to = texts
  let stop = used
  for (;;) {
    if (byte > QUOTE && byte < 0x80) {
      to[stop++] = byte
      seen |= 1 << byte
    } else if (byte === LF || byte === CR || byte === HASH) break
    else if (byte < SPACE && byte !== TAB) return anyLine(lineAt)
    else {
      if (byte > SPACE) encodes ||= PLAIN[byte] === 0
      else if (at < blankAt) blankAt = at
      to[stop++] = byte
    }
    byte = from[++at] as number
  }
  const end = byte === HASH ? lineEnd(at) : at
  if (end - lineAt > MAX_LINE_BYTES) return anyLine(lineAt)
  while (at > valueAt && isBlank(from[at - 1])) at--
  special = encodes || blankAt < at || ((seen & MAY_BE_SPECIAL) !== 0 && isSpecial(valueAt, at))
  take(spelling.field, valueAt, at)
  return end
}

function isSpecial(start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (PLAIN[bytes[at] as number] === 0) return true
  return false
}

/** Parses any line with `readLine`. Returns the index of its end. */
function anyLine(lineAt: number): number {
  const end = lineEnd(lineAt)
  const parts = readLine(bytes, lineAt, Math.min(end, lineAt + MAX_LINE_BYTES), grammar)
  const { field, nameAt, nameEnd, valueAt, valueEnd } = parts
  if (parts.disputed) disputed = true
  if (field < 0) {
    if (!quiet && valueEnd > nameAt) note(NO_FIELD, nameAt, valueEnd)
    return end
  }
  if (parts.missingColon) note(MISSING_COLON, nameAt, nameEnd)
  if (!parts.right) note(MISSPELT_FIELD, nameAt, nameEnd)
  if (field === OTHER) {
    if (records++ >= MAX_RECORDS) return end
    add(OTHER, copied(nameAt, nameEnd))
  }
  copied(valueAt, valueEnd)
  take(field, valueAt, valueEnd)
  return end
}

/** Adds a record with the value [start, end), which was already copied. */
function take(field: number, start: number, end: number): void {
  const length = end - start
  if (field <= ALLOW) rule(field, start, end)
  else if (field === AGENT) agent(start, end)
  else if (field === OTHER) add(VALUE, length)
  else if (field === SITEMAP)
    if (isSitemapUrl(bytes, start, end)) {
      endRun()
      add(SITEMAP, copied(start, end))
    } else if (isRelativeUrl(bytes, start, end)) {
      if (relatives++ >= MAX_RECORDS) return
      endRun()
      add(SITEMAP, copied(start, end))
      note(SITEMAP_RELATIVE, start, end)
    } else note(SITEMAP_UNUSABLE, start, end)
  else if (blockLine === 0) note(DELAY_BEFORE_GROUP)
  else if (delaySeconds(textOf(bytes, start, end)) < Infinity) add(DELAY, length)
  else note(CRAWL_DELAY_UNUSABLE, start, end)
}

/** Adds a rule. Only rules end a run of user-agent lines. */
function rule(allows: number, start: number, end: number): void {
  if (blockLine === 0) {
    note(RULE_BEFORE_GROUP)
    return
  }
  open = false
  if (start === end) {
    // An empty pattern matches nothing; it is kept to be reported when no other rule decides.
    if ((empties & (1 + allows)) !== 0) return
    empties |= 1 + allows
  }
  if (rules >= MAX_RULES) {
    if (rules++ === MAX_RULES) note(TOO_MANY_RULES)
    return
  }
  rules++
  if (special) encoded = true
  add(allows, end - start)
  if (lacksSlash(bytes, start, end)) {
    encoded = true
    note(PATTERN_WITHOUT_SLASH, start, end)
  } else if (special && holdsNoUrl(bytes, start, end)) note(PATTERN_NOT_ENCODED, start, end)
}

function agent(start: number, end: number): void {
  let letters = start
  while (letters < end && isTokenByte(bytes[letters] as number)) letters++
  const after = bytes[start + 1] as number
  // The blanks of C's isspace; a star followed by one still means every crawler.
  const everybody =
    bytes[start] === STAR && end > start && (end === start + 1 || after === SPACE || (after >= TAB && after <= CR))
  const named = letters > start || everybody
  const first = !open
  open = true
  add(first ? AGENT | FIRST : AGENT, end - start)
  if (!named) note(AGENT_WITHOUT_NAME, start, end)
  else if (end > Math.max(letters, start + 1)) note(AGENT_WITH_EXTRA, start, end)
  if (first) {
    endBlock()
    blockLine = line
    reachable = false
    empties = 0
  }
  if (named) reachable = true
}

/** Warns of a block without a usable name: it applies to no crawler, probably by mistake. */
function endBlock(): void {
  if (!reachable) note(UNREACHABLE_GROUP, 0, 0, blockLine)
}

/** Notes a warning about the bytes [start, end) of the source, or about none. */
function note(number: number, start = 0, end = 0, about = line): void {
  if (noted++ < MAX_WARNINGS) add(NOTE, copied(start, Math.min(end, start + MAX_NOTED)), (about << NOTE_BITS) | number)
}

/** Adds consecutive sitemap lines as one entry, unchanged: there may be thousands of them. */
function endRun(): void {
  if (runEnd > 0) add(SITEMAP, copied(runAt, runEnd))
  runEnd = -3
}

/** Up to this many bytes a loop copies faster than a native call with the view that it needs. */
const FEW = 96

/** Copies bytes of the source to the place of the next entry's text; returns their number. */
function copied(start: number, end: number): number {
  special = end - start > FEW
  if (special) texts.set(bytes.subarray(start, end), used)
  else
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number
      if (PLAIN[byte] === 0) special = true
      texts[used + at - start] = byte
    }
  return end - start
}

/** Adds an entry, whose text of this length was already copied. */
function add(kind: number, length: number, above = line): void {
  if (2 * entries + 3 > marks.length) {
    const more = new Int32Array(marks.length * 4)
    more.set(marks)
    marks = more
  }
  marks[2 * entries + 1] = (above << BITS) | kind
  marks[2 * ++entries] = used += length
}
