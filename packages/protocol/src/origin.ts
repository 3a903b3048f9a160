/**
 * A URL as this project keeps it: the WHATWG form, http(s) only, without fragment, split into origin and path. Lanes, rules and requests
 * share this parser, so that no two parts can disagree on the origin of a URL.
 */
import { createRequire } from 'node:module'
import type * as Tldts from 'tldts'
import { printable } from './printable.ts'

/**
 * Longest path + query that is requested, in bytes. RFC 9110 §4.1 recommends at least 8,000 for a whole URI, and common servers accept a
 * request line of 8 KiB; with nine bytes a letter, as for Thai or Japanese, 2,000 are soon reached. Every other bound of a URL follows from
 * this one.
 */
export const MAX_PATH_BYTES = 8_192
/** Longest text that is parsed; a longer one is refused unread. Scheme, host and port take 267 at most. */
export const MAX_URL_CHARS = MAX_PATH_BYTES + 512
/** Longest head of a request to one of our servers: a URL as a value of its query, each character encoded, beside the usual headers. */
export const REQUEST_HEAD_BYTES = 3 * MAX_URL_CHARS + 16_384

export type UrlRefusal =
  | 'not-a-url'
  | 'not-well-formed' // half of a surrogate pair: its character is lost, so another page would be fetched
  | 'url-too-long'
  | 'scheme-not-supported'
  | 'user-info'
  | 'bad-host'
  | 'ftp-not-supported'

export type CrawlUrl = {
  /** scheme://host[:port], punycode, lower case, default port dropped, no trailing dot; an IPv4 address also when IPv6 wraps it */
  origin: string
  /** path + query, percent-encoded, begins with '/' */
  path: string
  /** host without port; an IPv6 literal keeps its brackets */
  host: string
}

/** Reads a URL that a frontier would like fetched. A refusal names its reason; never throws. */
export function readUrl(text: string): CrawlUrl | { refused: UrlRefusal } {
  if (text.length > MAX_URL_CHARS) return { refused: 'url-too-long' }
  if (!text.isWellFormed()) return { refused: 'not-well-formed' }
  const url = URL.parse(text)
  if (url === null) return { refused: 'not-a-url' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { refused: url.protocol === 'ftp:' ? 'ftp-not-supported' : 'scheme-not-supported' }
  }
  // Credentials would have to be dropped or sent; without them another page than the intended one is fetched.
  if (url.username !== '' || url.password !== '') return { refused: 'user-info' }
  const host = hostIn(url.hostname)
  if (!isHost(host)) return { refused: 'bad-host' }
  const path = url.pathname + queryOf(url, text)
  if (path.length > MAX_PATH_BYTES) return { refused: 'url-too-long' } // ASCII here: characters are bytes
  return { origin: `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`, path, host }
}

/** `search` is also '' for `/a?`, which browsers request unchanged, and which `Disallow: /*?` forbids. @param url  loses its fragment */
function queryOf(url: URL, text: string): string {
  if (url.search !== '' || !text.includes('?')) return url.search
  url.hash = ''
  return url.href.endsWith('?') ? '?' : ''
}

/** `::ffff:a.b.c.d` as the URL standard writes it */
const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/

/** One name for one host: no trailing dot, and an IPv4 address wrapped in IPv6 (RFC 4291 §2.5.5.2) becomes IPv4, in the same lane. */
function hostIn(hostname: string): string {
  if (!hostname.startsWith('[')) return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  const [, high, low] = MAPPED.exec(hostname) ?? []
  if (high === undefined || low === undefined) return hostname
  return [high, low]
    .map((word) => Number.parseInt(word, 16))
    .flatMap((word) => [word >> 8, word & 0xff])
    .join('.')
}

/** DNS limits that WHATWG URL does not enforce (RFC 1035 §2.3.4): labels 1–63, name ≤ 253. */
function isHost(host: string): boolean {
  if (host.startsWith('[')) return true
  if (host === '' || host.length > 253) return false
  // Without an array of labels, for speed: this runs for every URL that comes in
  for (let from = 0; ;) {
    const dot = host.indexOf('.', from)
    const length = (dot < 0 ? host.length : dot) - from
    if (length < 1 || length > 63) return false
    if (dot < 0) return true
    from = dot + 1
  }
}

/** The host part of an origin, without port: it decides the partition. */
export function hostOf(origin: string): string {
  const authority = origin.slice(origin.indexOf('//') + 2)
  const colon = authority.indexOf(':', authority.startsWith('[') ? authority.indexOf(']') : 0)
  return colon < 0 ? authority : authority.slice(0, colon)
}

const require = createRequire(import.meta.url)
/** Loaded at first use: the public suffix list takes 12 MB and 20 ms, and most processes never need it. */
let tldts: typeof Tldts | undefined

/**
 * The registrable domain of a host: example.co.uk, and foo.github.io (the public suffix list with its private part); undefined for an
 * address, and for a name without one.
 */
export const registrableDomain = (host: string): string | undefined => {
  tldts ??= require('tldts') as typeof Tldts
  return tldts.getDomain(host, { allowPrivateDomains: true }) ?? undefined
}

/** The registrable domain of an origin, or its host if it has none. */
export function domainOf(origin: string): string {
  const host = hostOf(origin)
  return registrableDomain(host) ?? host
}

/** Longest spelling of `/robots.txt` that is checked: each byte encoded. */
const MAX_ROBOTS_CHARS = '/robots.txt'.length * 3

/**
 * Whether this path may be the robots.txt of its origin. Servers differ in whether case and query matter, and all decode percent-encoding:
 * so any spelling of the name takes part in the origin's one robots fetch. Only `/robots.txt` itself is the file whose rules count.
 */
export function namesRobotsTxt(path: string): boolean {
  const query = path.indexOf('?')
  const name = query < 0 ? path : path.slice(0, query)
  if (name.length > MAX_ROBOTS_CHARS) return false
  const decoded = name.replace(/%([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return decoded.toLowerCase() === '/robots.txt'
}

/** A URL for logs and for outcomes of refused input: shortened, credentials removed, control characters escaped. */
export function printableUrl(text: string, maxChars = 2_048): string {
  // Characters that the URL parser skips or reads as a slash must not hide a password from this function.
  const plain = text
    .slice(0, maxChars + 1)
    .replace(/[\t\n\r]/g, '')
    .replace(/^[\0-\x20]+/, '')
  const cut = text.length > maxChars ? `${plain.slice(0, maxChars)}…` : plain
  return printable(cut.replace(/^([a-z][a-z0-9+.-]{0,20}:[\\/]*)[^\\/?#]*@/i, '$1'))
}
