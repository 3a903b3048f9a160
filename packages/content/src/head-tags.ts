/**
 * The tags at the start of an HTML page, from the text that has arrived (HTML standard, 13.2.5). Every fetched page goes through
 * this reader, and most of its head is skipped: htmlparser2's tokenizer, which tags.ts uses, takes three times as long
 * (docs/decisions/0013-what-a-page-costs.md). A test compares the two.
 */
import { decodeHTMLAttribute } from 'entities/decode'

const TAB = 9
const LINE_FEED = 10
const FORM_FEED = 12
const CARRIAGE_RETURN = 13
const SPACE = 32
const EXCLAMATION = 33
const DOUBLE_QUOTE = 34
const SINGLE_QUOTE = 39
const SLASH = 47
const EQUALS = 61
const GREATER = 62
const QUESTION = 63

/** Elements whose content is text until their end tag. */
const TEXT_ONLY: ReadonlySet<string> = new Set(
  'script style title textarea iframe noembed noframes xmp plaintext'.split(' '),
)

const isSpace = (c: number): boolean =>
  c === SPACE || c === LINE_FEED || c === TAB || c === FORM_FEED || c === CARRIAGE_RETURN
const endsName = (c: number): boolean => c === GREATER || c === SLASH || isSpace(c)
const isLetter = (c: number): boolean => (c >= 97 && c <= 122) || (c >= 65 && c <= 90)

/**
 * Passes on every complete tag from `at` on; a tag whose content is text (`TEXT_ONLY`) only once that is complete, too.
 * @param onTag  returns false to stop behind this tag
 * @param isXml  `<script/>` ends at once, and there is CDATA
 * @returns      where to continue when more text has arrived, at the first incomplete tag; -1: `onTag` ended the reading
 */
export function readTags(text: string, at: number, onTag: (tag: HeadTag) => boolean, isXml = false): number {
  for (let open = text.indexOf('<', at); open >= 0; open = text.indexOf('<', at)) {
    const c = text.charCodeAt(open + 1) // NaN behind the end
    if (c === EXCLAMATION)
      at = isXml && text.startsWith('[CDATA[', open + 2) ? after(text, ']]>', open + 9) : endOfMarkup(text, open + 2)
    else if (c === QUESTION) at = after(text, '>', open + 2)
    else if (c === SLASH) {
      const isName = isLetter(text.charCodeAt(open + 2))
      at = after(text, '>', open + 2)
      if (at > 0 && isName && !onTag(new HeadTag(text, open + 2, true))) return -1
    } else if (isLetter(c)) {
      const tag = new HeadTag(text, open + 1, false)
      at = tag.end()
      const isText = at > 0 && TEXT_ONLY.has(tag.name) && !(isXml && text.charCodeAt(at - 2) === SLASH)
      if (isText) at = endOfText(text, tag.name, at)
      if (at > 0 && !onTag(tag)) return -1
    } else if (open + 1 === text.length) return open
    else at = open + 1
    if (at === 0) return open
  }
  return text.length
}

export class HeadTag {
  /** where the tag's name begins */
  readonly at: number
  readonly isClosing: boolean
  /** in lower case */
  readonly name: string
  readonly #text: string
  readonly #nameEnd: number

  constructor(text: string, at: number, isClosing: boolean) {
    let end = at
    while (end < text.length && !endsName(text.charCodeAt(end))) end++
    this.at = at
    this.isClosing = isClosing
    this.name = text.slice(at, end).toLowerCase()
    this.#text = text
    this.#nameEnd = end
  }

  /** Position behind the tag's `>`; 0 when that has not arrived. */
  end(): number {
    for (let at = this.#nameEnd; readAttribute(this.#text, at);) at = found.end
    return found.end
  }

  /** The first attribute of that name. @param name  in lower case. @param toText  converts the raw value to text */
  attribute(name: string, toText = AS_IT_IS): string | undefined {
    const text = this.#text
    for (let at = this.#nameEnd; readAttribute(text, at); at = found.end) {
      const { nameAt, nameEnd, valueAt, valueEnd } = found
      if (nameEnd - nameAt === name.length && text.slice(nameAt, nameEnd).toLowerCase() === name)
        return decoded(toText(text.slice(valueAt, valueEnd)))
    }
    return undefined
  }

  /** All attributes by name, in lower case. */
  attributes(): ReadonlyMap<string, string> {
    const all = new Map<string, string>()
    const text = this.#text
    for (let at = this.#nameEnd; readAttribute(text, at); at = found.end) {
      const { nameAt, nameEnd, valueAt, valueEnd } = found
      const name = text.slice(nameAt, nameEnd).toLowerCase()
      if (!all.has(name)) all.set(name, decoded(text.slice(valueAt, valueEnd)))
    }
    return all
  }
}

/** Position of the attribute read last. One shared object: making one per attribute takes as long as reading it. */
const found = { nameAt: 0, nameEnd: 0, valueAt: 0, valueEnd: 0, end: 0 }

/** @returns false: no more attributes; then `found.end` is behind the tag's `>`, or 0 when that has not arrived */
function readAttribute(text: string, at: number): boolean {
  found.end = 0
  let c = text.charCodeAt(at)
  while (isSpace(c) || c === SLASH) c = text.charCodeAt(++at)
  if (c === GREATER) found.end = at + 1
  if (c === GREATER || at >= text.length) return false
  found.nameAt = at++ // any first character belongs to the name, even '='
  for (c = text.charCodeAt(at); c !== EQUALS && !endsName(c) && at < text.length;) c = text.charCodeAt(++at)
  found.nameEnd = at
  while (isSpace(c)) c = text.charCodeAt(++at)
  let [from, to] = [at, at]
  if (c === EQUALS) {
    do c = text.charCodeAt(++at)
    while (isSpace(c))
    if (c === DOUBLE_QUOTE || c === SINGLE_QUOTE) {
      from = at + 1
      to = text.indexOf(c === DOUBLE_QUOTE ? '"' : "'", from)
      if (to < 0) return false
      at = to + 1
    } else {
      from = at
      while (at < text.length && c !== GREATER && !isSpace(c)) c = text.charCodeAt(++at)
      to = at
    }
  }
  if (at >= text.length) return false
  found.valueAt = from
  found.valueEnd = to
  found.end = at
  return true
}

const AS_IT_IS = (raw: string): string => raw
const decoded = (raw: string): string => (raw.includes('&') ? decodeHTMLAttribute(raw) : raw)

/** Position behind the next `what`; 0 when there is none. */
function after(text: string, what: string, at: number): number {
  const found = text.indexOf(what, at)
  return found < 0 ? 0 : found + what.length
}

/** Position behind a comment, a doctype, or what counts as a comment; `at` is behind `<!`. */
function endOfMarkup(text: string, at: number): number {
  if (!text.startsWith('--', at)) return text.startsWith('-', at) && at + 1 === text.length ? 0 : after(text, '>', at)
  if (text.startsWith('>', at + 2)) return at + 3
  if (text.startsWith('->', at + 2)) return at + 4
  // One search for both ends: separate searches would scan the whole rest of the text for every comment that has only one of them.
  for (let dashes = text.indexOf('--', at + 2); dashes >= 0; dashes = text.indexOf('--', dashes + 1)) {
    if (text.startsWith('>', dashes + 2)) return dashes + 3
    if (text.startsWith('!>', dashes + 2)) return dashes + 4
  }
  return 0
}

/** Position of the end tag of a TEXT_ONLY element; 0 when it has not arrived. */
function endOfText(text: string, name: string, at: number): number {
  if (name === 'plaintext') return 0
  for (let end = text.indexOf('</', at); end >= 0; end = text.indexOf('</', end + 2)) {
    const nameEnd = end + 2 + name.length
    if (endsName(text.charCodeAt(nameEnd)) && text.slice(end + 2, nameEnd).toLowerCase() === name) return end
  }
  return 0
}
