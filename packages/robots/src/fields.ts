/**
 * What stands before the colon: which record a line is (RFC 9309 §2.2, and the misspellings that google/robotstxt forgives).
 * Works on octets, since a hostile file has a hundred thousand such lines and most of them deserve no string.
 */

export type Field = 'user-agent' | 'allow' | 'disallow' | 'sitemap' | 'crawl-delay' | 'other' | 'unknown'

interface Spelling {
  readonly octets: readonly number[]
  readonly field: Field
  readonly right: boolean
  /** Must it be the whole name, or only its start? */
  readonly whole: boolean
}

/** As google/robotstxt: these four are known by how they start, so `disallowed:` disallows. */
const STARTS: readonly (readonly [Field, ...string[]])[] = [
  ['user-agent', 'user-agent', 'useragent', 'user agent'],
  ['allow', 'allow'],
  ['disallow', 'disallow', 'dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw'],
  ['sitemap', 'sitemap', 'site-map'],
]

/** Known by their whole name; the last six are reported, and no more than that. */
const NAMES: readonly (readonly [Field, ...string[]])[] = [
  ['crawl-delay', 'crawl-delay', 'crawldelay', 'crawl delay'],
  ['other', 'request-rate', 'visit-time', 'host', 'clean-param', 'content-signal', 'content-usage'],
]

/** Octets of a word, in lower case. */
export function octetsOf(word: string): number[] {
  return [...word].map((letter) => letter.charCodeAt(0))
}

/** Spellings by their first letter. */
const spellings: readonly Spelling[][] = /* @__PURE__ */ byFirstLetter()

function byFirstLetter(): Spelling[][] {
  const table: Spelling[][] = Array.from({ length: 128 }, () => [])
  for (const [list, whole] of [
    [STARTS, false],
    [NAMES, true],
  ] as const)
    for (const [field, ...words] of list)
      for (const word of words)
        table[word.charCodeAt(0)]?.push({
          octets: octetsOf(word),
          field,
          right: word === field || field === 'other',
          whole,
        })
  return table
}

/** Does `word` (lower case) stand at `at`? Letters compare without case, everything else exactly. */
export function standsAt(octets: Uint8Array, at: number, word: readonly number[]): boolean {
  for (let i = 0; i < word.length; i++) {
    const wanted = word[i] as number
    if (((octets[at + i] as number) | ((wanted & 0x40) >> 1)) !== wanted) return false
  }
  return true
}

/** The record that the field name [start, end) means, and whether it is spelt as it should be. */
export function fieldAt(octets: Uint8Array, start: number, end: number): { field: Field; right: boolean } {
  const first = (octets[start] as number) | 32
  for (const spelling of spellings[first] ?? []) {
    const length = spelling.octets.length
    const fits = spelling.whole ? end - start === length : end - start >= length
    if (fits && standsAt(octets, start, spelling.octets))
      return { field: spelling.field, right: spelling.right && end - start === length }
  }
  return { field: 'unknown', right: true }
}

/**
 * Seconds of a crawl-delay: digits with or without decimals, `.5` too. Anything else is void: negative, a comma, a unit,
 * hexadecimal, an exponent, more than a number can hold.
 */
export function delaySeconds(text: string): number | undefined {
  if (!/^(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/.test(text)) return undefined
  const seconds = Number(text)
  return Number.isFinite(seconds) ? seconds : undefined
}

/** An absolute http(s) URL with a host. Where it points is its reader's business. */
export function isSitemapUrl(text: string): boolean {
  return /^https?:\/\/[^\s/?#]/i.test(text)
}
