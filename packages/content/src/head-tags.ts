/**
 * The tags at the start of an HTML page, from text that has come so far (HTML standard, 13.2.5). Every page that is fetched goes through
 * here, and most of its head is passed over: the tokenizer of htmlparser2, which tags.ts uses, takes three times as long
 * (docs/decisions/0013-what-a-page-costs.md). A test holds the two against each other.
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

/** What they contain is text until their end tag. */
const TEXT_ONLY: ReadonlySet<string> = new Set(
  'script style title textarea iframe noembed noframes xmp plaintext'.split(' '),
)

const isSpace = (c: number): boolean =>
  c === SPACE || c === LINE_FEED || c === TAB || c === FORM_FEED || c === CARRIAGE_RETURN
const endsName = (c: number): boolean => c === GREATER || c === SLASH || isSpace(c)
const isLetter = (c: number): boolean => (c >= 97 && c <= 122) || (c >= 65 && c <= 90)

/**
 * Tells every tag from `at` on that is whole; one whose content is text, when that is whole, too.
 * @param onTag  false: nothing behind this tag is read
 * @returns      where to go on when more of the text is there, at what is not whole yet; -1 when nothing more is to be read
 */
export function readTags(text: string, at: number, onTag: (tag: HeadTag) => boolean): number {
  for (let open = text.indexOf('<', at); open >= 0; open = text.indexOf('<', at)) {
    const c = text.charCodeAt(open + 1) // NaN behind the end
    if (c === EXCLAMATION) at = endOfMarkup(text, open + 2)
    else if (c === QUESTION) at = after(text, '>', open + 2)
    else if (c === SLASH) {
      const isName = isLetter(text.charCodeAt(open + 2))
      at = after(text, '>', open + 2)
      if (at > 0 && isName && !onTag(new HeadTag(text, open + 2, true))) return -1
    } else if (isLetter(c)) {
      const tag = new HeadTag(text, open + 1, false)
      at = tag.end()
      if (at > 0 && TEXT_ONLY.has(tag.name)) at = endOfText(text, tag.name, at)
      if (at > 0 && !onTag(tag)) return -1
    } else if (open + 1 === text.length) return open
    else at = open + 1
    if (at === 0) return open
  }
  return text.length
}

export class HeadTag {
  readonly isClosing: boolean
  /** in lower case */
  readonly name: string
  readonly #text: string
  readonly #nameEnd: number

  /** @param at  where its name begins */
  constructor(text: string, at: number, isClosing: boolean) {
    let end = at
    while (end < text.length && !endsName(text.charCodeAt(end))) end++
    this.isClosing = isClosing
    this.name = text.slice(at, end).toLowerCase()
    this.#text = text
    this.#nameEnd = end
  }

  /** Behind its `>`; 0 when that is not there yet. */
  end(): number {
    return this.#walk(undefined)
  }

  /** By name in lower case, the first of each name. */
  attributes(): ReadonlyMap<string, string> {
    const found = new Map<string, string>()
    this.#walk(found)
    return found
  }

  #walk(found: Map<string, string> | undefined): number {
    const text = this.#text
    for (let at = this.#nameEnd; ; ) {
      let c = text.charCodeAt(at)
      while (isSpace(c) || c === SLASH) c = text.charCodeAt(++at)
      if (c === GREATER) return at + 1
      const nameAt = at++ // whatever it is, '=' as well
      for (c = text.charCodeAt(at); c !== EQUALS && !endsName(c) && at < text.length; ) c = text.charCodeAt(++at)
      const nameEnd = at
      while (isSpace(c)) c = text.charCodeAt(++at)
      let [from, to] = [at, at]
      if (c === EQUALS) {
        do c = text.charCodeAt(++at)
        while (isSpace(c))
        if (c === DOUBLE_QUOTE || c === SINGLE_QUOTE) {
          from = at + 1
          to = text.indexOf(c === DOUBLE_QUOTE ? '"' : "'", from)
          if (to < 0) return 0
          at = to + 1
        } else {
          from = at
          while (at < text.length && c !== GREATER && !isSpace(c)) c = text.charCodeAt(++at)
          to = at
        }
      }
      if (at >= text.length) return 0
      if (found === undefined) continue
      const name = text.slice(nameAt, nameEnd).toLowerCase()
      if (!found.has(name)) found.set(name, decoded(text.slice(from, to)))
    }
  }
}

const decoded = (raw: string): string => (raw.includes('&') ? decodeHTMLAttribute(raw) : raw)

/** Behind the next `what`; 0 when there is none. */
function after(text: string, what: string, at: number): number {
  const found = text.indexOf(what, at)
  return found < 0 ? 0 : found + what.length
}

/** Behind a comment, a doctype, or what counts as a comment; `at` is behind `<!`. */
function endOfMarkup(text: string, at: number): number {
  if (!text.startsWith('--', at)) return text.startsWith('-', at) && at + 1 === text.length ? 0 : after(text, '>', at)
  if (text.startsWith('>', at + 2)) return at + 3
  if (text.startsWith('->', at + 2)) return at + 4
  // One search for both ends: a search for each would go through the whole rest of the text for every comment that ends with the other
  for (let dashes = text.indexOf('--', at + 2); dashes >= 0; dashes = text.indexOf('--', dashes + 1)) {
    if (text.startsWith('>', dashes + 2)) return dashes + 3
    if (text.startsWith('!>', dashes + 2)) return dashes + 4
  }
  return 0
}

/** Behind the text that such an element contains, at its end tag; 0 when that is not there yet. */
function endOfText(text: string, name: string, at: number): number {
  if (name === 'plaintext') return 0
  for (let end = text.indexOf('</', at); end >= 0; end = text.indexOf('</', end + 2)) {
    const nameEnd = end + 2 + name.length
    if (endsName(text.charCodeAt(nameEnd)) && text.slice(end + 2, nameEnd).toLowerCase() === name) return end
  }
  return 0
}
