/**
 * What stands before the colon: which record a line is (RFC 9309 §2.2, and the misspellings that google/robotstxt forgives).
 * Works on octets, since a hostile file has a hundred thousand such lines and most of them deserve no string.
 */

export type Field = 'user-agent' | 'allow' | 'disallow' | 'sitemap' | 'crawl-delay' | 'other'

export interface Spelling {
  readonly octets: readonly number[]
  readonly field: Field
  readonly right: boolean
  /** google/robotstxt takes any key that begins so: `disallowed:` disallows. */
  readonly knownByPrefix: boolean
}

const KNOWN_BY_PREFIX: readonly (readonly [Field, ...string[]])[] = [
  ['user-agent', 'user-agent', 'useragent', 'user agent'],
  ['allow', 'allow'],
  ['disallow', 'disallow', 'dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw'],
  ['sitemap', 'sitemap', 'site-map'],
]

/** Known by their whole name; the last six are reported, and no more than that. */
const KNOWN_WHOLE: readonly (readonly [Field, ...string[]])[] = [
  ['crawl-delay', 'crawl-delay', 'crawldelay', 'crawl delay'],
  ['other', 'request-rate', 'visit-time', 'host', 'clean-param', 'content-signal', 'content-usage'],
]

/** Octets of a word, in lower case. */
export function bytesOf(word: string): number[] {
  return [...word].map((letter) => letter.charCodeAt(0))
}

/** Spellings by their first letter. None of them begins with another one. */
const spellings: readonly Spelling[][] = /* @__PURE__ */ byFirstLetter()

function byFirstLetter(): Spelling[][] {
  const table: Spelling[][] = Array.from({ length: 128 }, () => [])
  for (const list of [KNOWN_BY_PREFIX, KNOWN_WHOLE])
    for (const [field, ...words] of list)
      for (const word of words)
        table[word.charCodeAt(0)]?.push({
          octets: bytesOf(word),
          field,
          right: word === field || field === 'other',
          knownByPrefix: list === KNOWN_BY_PREFIX,
        })
  return table
}

/** 1 for the octets that a field name can begin with, in either case. */
export const BEGINS_FIELD = /* @__PURE__ */ Uint8Array.from({ length: 256 }, (_, octet) =>
  octet > 64 && (spellings[octet | 32]?.length ?? 0) > 0 ? 1 : 0,
)

/** Does `word` (lower case) stand at `at`? Letters compare without case, everything else exactly. */
export function standsAt(octets: Uint8Array, at: number, word: readonly number[]): boolean {
  for (let i = 0; i < word.length; i++) {
    const wanted = word[i] as number
    if (((octets[at + i] as number) | ((wanted & 0x40) >> 1)) !== wanted) return false
  }
  return true
}

/** The known field name that stands at `at`, whatever follows it. */
export function spellingAt(octets: Uint8Array, at: number): Spelling | undefined {
  const candidates = spellings[(octets[at] as number) | 32]
  if (candidates !== undefined)
    for (const spelling of candidates) if (standsAt(octets, at, spelling.octets)) return spelling
  return undefined
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

/** Does an absolute http(s) URL with a host stand at `at`? Where it points is its reader's business. */
export function isSitemapUrl(octets: Uint8Array, at: number, end: number): boolean {
  if (!standsAt(octets, at, HTTP)) return false
  let after = at + 4
  if (((octets[after] as number) | 32) === 115) after++
  if (octets[after] !== 58 || octets[after + 1] !== 47 || octets[after + 2] !== 47) return false
  const first = octets[after + 3] as number
  return after + 3 < end && first > 32 && first !== 47 && first !== 63 && first !== 35
}

const HTTP = /* @__PURE__ */ bytesOf('http')
