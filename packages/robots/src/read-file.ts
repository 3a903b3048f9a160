/**
 * Bytes → lines → the entries of a file, in one pass (RFC 9309 §2.2, §2.5; line for line like google/robotstxt).
 *
 * A line in the usual form, with its field spelt correctly and the colon directly behind it, takes a short path. A line that begins with no
 * letter of a field name is skipped unread. Every other line goes through `readLine`, which is the definition. Never throws, whatever the
 * bytes. Parsing is synchronous, so its state belongs to the module and is reused.
 */
import { delaySeconds, isRelativeUrl, isSitemapUrl, spellingAt } from './fields.ts'
import { MAX_LINE_OCTETS, MAX_RECORDS, MAX_RULES, MAX_WARNINGS } from './limits.ts'
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
import { COLON, FF, isTokenOctet, NUL, PLAIN, STAR, textOf, VT } from './octets.ts'
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

/** Each byte above a quote that is not PLAIN has one of these values in its lowest five bits; of the others only a few have. */
const MAY_BE_SPECIAL = 1 | (1 << 27) | (1 << 28) | (1 << 29) | (1 << 30) | (1 << 31)

// The source; it has a line end at `length`.
let octets: Uint8Array
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
/** The file is a page of HTML, or no text at all: one warning says so, and its lines get none. */
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
/** The empty rules of the block: bit 1 a disallow, bit 2 an allow. The first of each is kept, because it may be reported. */
let empties: number
/** Whether the block has a name that a crawler can have. */
let reachable: boolean

/** Recognizes bytes [at, end) that are no robots.txt: the number of the warning. */
export type ContentOf = (octets: Uint8Array, at: number, end: number) => number | undefined

/**
 * Parses a file.
 * @param truncated  it was cut by its reader, so a last line without a line end is dropped
 * @param contentOf  given when warnings are wanted
 */
export function readFile(source: RobotsSource, truncated: boolean, by: Grammar, contentOf?: ContentOf): RobotsFile {
  const loaded = load(source, truncated, by)
  const { length } = loaded
  octets = loaded.octets
  words = loaded.words
  grammar = by
  const room = octets.length + MAX_NOTED * MAX_WARNINGS
  if (texts.length < room) texts = new Uint8Array(room)
  used = entries = noted = rules = records = relatives = blockLine = empties = 0
  runEnd = -3
  encoded = disputed = open = false
  reachable = true
  line = 1

  // A byte order mark, or part of one, at the very start (google/robotstxt).
  let at = 0
  for (const mark of BYTE_ORDER_MARK)
    if (at < length && octets[at] === mark) at++
    else break
  const content = contentOf?.(octets, at, length)
  quiet = content !== undefined || (loaded.form !== undefined && by === 'google')
  if (loaded.form !== undefined) note(loaded.form)
  if (content !== undefined) note(content)
  readLines(at, length)
  if (loaded.cut) note(OVER_LIMIT)
  endBlock()
  endRun()

  return {
    grammar,
    source: loaded.packed ?? (disputed ? octets.slice(0, length) : undefined),
    truncated: loaded.packed !== undefined && truncated,
    octets: texts.slice(0, used),
    marks: marks.slice(0, 2 * entries + 1),
    encoded,
    noted,
  }
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

function readLines(at: number, length: number): void {
  const from = octets
  for (; at < length; line++) {
    const lineAt = at
    let octet = from[at] as number
    while (octet === SPACE || octet === TAB) octet = from[++at] as number
    if (octet === HASH) at = lineEnd(at)
    else if (octet !== LF && octet !== CR) at = recordAt(lineAt, at, octet)
    if (at - lineAt > MAX_LINE_OCTETS) note(LINE_TOO_LONG)
    // CR LF is one line end; LF CR is two, the second of an empty line.
    at += from[at] === CR && from[at + 1] === LF ? 2 : 1
  }
  // Counts line ends, as editors do: after a final one there is one more, empty line.
}

/** The next line end at `at` or later. */
function lineEnd(at: number): number {
  at = nextBelow(at, CR + 1)
  while (!isLineEnd(octets[at])) at = nextBelow(at + 1, CR + 1)
  return at
}

/** The next byte below `limit`, at `at` or later; searched four bytes at a time. The line end at the end stops the search. */
function nextBelow(at: number, limit: number): number {
  const one = octets
  const four = words
  for (; (at & 3) !== 0; at++) if ((one[at] as number) < limit) return at
  // Whether one of four bytes is below the limit, which is at most 128: then the highest bit of one of them is set in this.
  const limits = limit * 0x01010101
  let word = at >> 2
  for (let each = four[word] as number; ((each - limits) & ~each & -0x7f7f7f80) === 0;) each = four[++word] as number
  at = word << 2
  while ((one[at] as number) >= limit) at++
  return at
}

/** Parses a line whose first byte that is no blank is at `at`. Returns the index of its end. */
function recordAt(lineAt: number, at: number, first: number): number {
  const from = octets
  const spelling = spellingAt(from, at)
  if (spelling === undefined) {
    // Under one grammar these are blanks, or the end of the line.
    if (first === NUL || first === VT || first === FF) return anyLine(lineAt)
    const end = lineEnd(at)
    // Beyond the limit the rest of a line counts as blank.
    if (!quiet && at - lineAt < MAX_LINE_OCTETS) note(NO_FIELD, at, Math.min(end, lineAt + MAX_LINE_OCTETS))
    return end
  }
  at += spelling.octets.length
  if (from[at] !== COLON || !spelling.right || spelling.field > SITEMAP) return anyLine(lineAt)
  let octet = from[++at] as number
  while (octet === SPACE || octet === TAB) octet = from[++at] as number
  const valueAt = at
  if (spelling.field === SITEMAP) {
    // In the usual form only the line end is below '$'.
    const end = nextBelow(at, 36)
    if (!isLineEnd(from[end]) || end - lineAt > MAX_LINE_OCTETS || !isSitemapUrl(from, at, end)) return anyLine(lineAt)
    if (lineAt > runEnd + 2) {
      endRun()
      runAt = lineAt
    }
    runEnd = end
    return end
  }
  let encodes = false
  /** The place of the first blank in the value, or behind it. */
  let blankAt = lineAt + MAX_LINE_OCTETS
  /** The bytes that occurred, by their lowest five bits. */
  let seen = 0
  const to = texts
  let stop = used
  for (;;) {
    if (octet > QUOTE && octet < 0x80) {
      to[stop++] = octet
      seen |= 1 << octet
    } else if (octet === LF || octet === CR || octet === HASH) break
    else if (octet < SPACE && octet !== TAB) return anyLine(lineAt)
    else {
      if (octet > SPACE) encodes ||= PLAIN[octet] === 0
      else if (at < blankAt) blankAt = at
      to[stop++] = octet
    }
    octet = from[++at] as number
  }
  const end = octet === HASH ? lineEnd(at) : at
  if (end - lineAt > MAX_LINE_OCTETS) return anyLine(lineAt)
  while (at > valueAt && isBlank(from[at - 1])) at--
  special = encodes || blankAt < at || ((seen & MAY_BE_SPECIAL) !== 0 && isSpecial(valueAt, at))
  take(spelling.field, valueAt, at)
  return end
}

function isSpecial(start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (PLAIN[octets[at] as number] === 0) return true
  return false
}

/** Parses any line by the definition. Returns the index of its end. */
function anyLine(lineAt: number): number {
  const end = lineEnd(lineAt)
  const parts = readLine(octets, lineAt, Math.min(end, lineAt + MAX_LINE_OCTETS), grammar)
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
    if (isSitemapUrl(octets, start, end)) {
      endRun()
      add(SITEMAP, copied(start, end))
    } else if (isRelativeUrl(octets, start, end)) {
      if (relatives++ >= MAX_RECORDS) return
      endRun()
      add(SITEMAP, copied(start, end))
      note(SITEMAP_RELATIVE, start, end)
    } else note(SITEMAP_UNUSABLE, start, end)
  else if (blockLine === 0) note(DELAY_BEFORE_GROUP)
  else if (delaySeconds(textOf(octets, start, end)) < Infinity) add(DELAY, length)
  else note(CRAWL_DELAY_UNUSABLE, start, end)
}

/** Only rules end a run of user-agent lines. */
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
  if (lacksSlash(octets, start, end)) {
    encoded = true
    note(PATTERN_WITHOUT_SLASH, start, end)
  } else if (special && holdsNoUrl(octets, start, end)) note(PATTERN_NOT_ENCODED, start, end)
}

function agent(start: number, end: number): void {
  let letters = start
  while (letters < end && isTokenOctet(octets[letters] as number)) letters++
  const after = octets[start + 1] as number
  // The blanks of C's isspace; a star followed by one still means every crawler.
  const everybody =
    octets[start] === STAR && end > start && (end === start + 1 || after === SPACE || (after >= TAB && after <= CR))
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

/** Consecutive sitemap lines are one entry, unchanged: there may be thousands of them. */
function endRun(): void {
  if (runEnd > 0) add(SITEMAP, copied(runAt, runEnd))
  runEnd = -3
}

/** Up to this length a loop copies faster than a native call with the view that it needs. */
const FEW = 96

/** Copies bytes of the source to the place of the next entry's text; returns their number. */
function copied(start: number, end: number): number {
  special = end - start > FEW
  if (special) texts.set(octets.subarray(start, end), used)
  else
    for (let at = start; at < end; at++) {
      const octet = octets[at] as number
      if (PLAIN[octet] === 0) special = true
      texts[used + at - start] = octet
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
