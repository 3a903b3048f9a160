/**
 * Parses the text before the colon: the kind of a record (RFC 9309 §2.2, and the misspellings that google/robotstxt accepts). Works on
 * bytes, since a hostile file has a hundred thousand such lines and most of them need no string.
 */

export type Field = 'user-agent' | 'allow' | 'disallow' | 'sitemap' | 'crawl-delay' | 'other'

/** Fields by number. These numbers are also the kinds of their entries (robots-file.ts). */
export const FIELDS: readonly Field[] = ['disallow', 'allow', 'user-agent', 'sitemap', 'crawl-delay', 'other']

/**
 * Spellings of each field, in the same order, the correct one first. For the last field all are correct: these records are only reported.
 */
const SPELLINGS = [
  'disallow,dissallow,dissalow,disalow,diasllow,disallaw',
  'allow',
  'user-agent,useragent,user agent',
  'sitemap,site-map',
  'crawl-delay,crawldelay,crawl delay',
  'request-rate,visit-time,host,clean-param,content-signal,content-usage',
]

/** For fields below this number google/robotstxt compares only the beginning of a key: `disallowed:` disallows. */
export const KNOWN_WHOLE = 4

export interface Spelling {
  readonly bytes: readonly number[]
  readonly field: number
  readonly right: boolean
}

/** The bytes of a word, in lower case. */
export function bytesOf(word: string): number[] {
  return [...word].map((letter) => letter.charCodeAt(0))
}

/** Spellings by their first letter. None of them begins with another one. */
const spellings: readonly Spelling[][] = /* @__PURE__ */ byFirstLetter()

function byFirstLetter(): Spelling[][] {
  const table: Spelling[][] = Array.from({ length: 256 }, () => [])
  for (const [field, words] of SPELLINGS.entries())
    for (const [i, word] of words.split(',').entries()) {
      const bytes = bytesOf(word)
      table[bytes[0] as number]?.push({ bytes, field, right: i === 0 || field > KNOWN_WHOLE })
    }
  return table
}

/** Whether `word` (lower case) is at `at`. Letters compare without case, everything else exactly. */
export function standsAt(bytes: Uint8Array, at: number, word: readonly number[]): boolean {
  for (let i = 0; i < word.length; i++) {
    const wanted = word[i] as number
    if (((bytes[at + i] as number) | ((wanted & 0x40) >> 1)) !== wanted) return false
  }
  return true
}

/** The known field name at `at`, whatever follows it. */
export function spellingAt(bytes: Uint8Array, at: number): Spelling | undefined {
  const candidates = spellings[(bytes[at] as number) | 32] as Spelling[]
  for (let i = 0; i < candidates.length; i++) {
    const spelling = candidates[i] as Spelling
    if (standsAt(bytes, at, spelling.bytes)) return spelling
  }
  return undefined
}

/**
 * Seconds of a crawl-delay: digits with or without decimals, also `.5`. NaN for anything else: negative, a comma, a unit, hexadecimal, an
 * exponent. Infinity for more than a number can hold.
 */
export function delaySeconds(text: string): number {
  return /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN
}

/** Whether an absolute http(s) URL with a host is at `at`. The rest of the URL is not checked. */
export function isSitemapUrl(bytes: Uint8Array, at: number, end: number): boolean {
  const after = ((bytes[at + 4] as number) | 32) === 115 ? at + 5 : at + 4
  const first = bytes[after + 3] as number
  return (
    standsAt(bytes, at, HTTP) &&
    standsAt(bytes, after, AUTHORITY) &&
    after + 3 < end &&
    first > 32 &&
    first !== 47 &&
    first !== 63 &&
    first !== 35
  )
}

/** Whether a URL without a scheme is at `at`: anything, unless a colon precedes the first '/', '?' or '#'. */
export function isRelativeUrl(bytes: Uint8Array, at: number, end: number): boolean {
  if (at >= end) return false
  for (let byte = bytes[at]; at < end && byte !== 47 && byte !== 63 && byte !== 35; byte = bytes[++at])
    if (byte === 58) return false
  return true
}

const HTTP = /* @__PURE__ */ bytesOf('http')
const AUTHORITY = /* @__PURE__ */ bytesOf('://')
