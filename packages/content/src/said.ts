/**
 * Statements of a site about a page: in its headers and, for HTML, in the first 64 KiB of its head. Where the two differ, the
 * stricter robots rules count, the canonical URL of the header, and the language of the page. This code runs for each fetched
 * page (docs/decisions/0013-what-a-page-costs.md).
 */
import {
  bytesEncoded,
  contentTypeOf,
  type Fields,
  isHtmlType,
  isXmlType,
  linesOf,
  mediaTypeOf,
  membersOf,
} from '@decorum/protocol/headers'
import type { PageStatements } from '@decorum/protocol/outcome'
import { parseRobotsMeta, type RobotsMeta } from '@decorum/robots/meta'
import { absolute, baseOf } from './absolute.ts'
import { declaredEncoding, encodingOf, latin1, seemsHtml, SAMPLE_BYTES, wholeDecoderOf } from './charset.ts'
import { type HeadTag, readTags } from './head-tags.ts'

/** Most decoded bytes of an HTML page that are read. */
export const HEAD_BYTES = SAMPLE_BYTES
/** Bytes read first. */
const FIRST_BYTES = 1_024
/** Length of the longest byte order mark. */
const BOM_BYTES = 3

const LANGUAGE = /^[a-z]{1,8}(-[a-z0-9]{1,8}){0,7}$/i
/** Elements that keep a head open; any other element begins the body, even without `<body>` (HTML standard, 13.2.6.4.4). */
const IN_HEAD: ReadonlySet<string> = new Set(
  'html head base basefont bgsound link meta noframes noscript script style template title'.split(' '),
)

/** Whether the page is HTML, whose body may add statements; undefined: its first bytes decide. */
export const isHtml = (headers: Fields): boolean | undefined => isHtmlType(mediaTypeOf(contentTypeOf(headers)))

/**
 * @param headers  as received
 * @param start    of the body without its content coding, in pieces; empty when it is no HTML
 */
export function pageStatements(
  url: string,
  headers: Fields,
  names: readonly string[],
  start: readonly Uint8Array[],
): PageStatements | undefined {
  const statements: PageStatements = {}
  const header = contentTypeOf(headers) ?? null
  const type = mediaTypeOf(header)
  const rules: RobotsMeta[] = []
  const tags = linesOf(headers, 'x-robots-tag')
  if (tags.length > 0) rules.push(...parseRobotsMeta(tags).filter((one) => isMeant(one.agent, names)))
  const canonical = canonicalIn(linesOf(headers, 'link'), url)
  const language = languageIn(membersOf(headers, 'content-language'))
  const charset = type.charset?.toLowerCase()
  if (canonical !== undefined) statements.canonical = canonical
  if (charset !== undefined && CHARSET.test(charset)) statements.charset = charset
  if (language !== undefined) statements.language = language
  const isPage = start.some(({ length }) => length > 0) && (isHtmlType(type) ?? startsAsHtml(start))
  if (isPage) readHead(url, start, header, names, statements, rules)
  const robots = wordsOf(rules)
  if (robots.length > 0) statements.robots = robots
  return Object.keys(statements).length === 0 ? undefined : statements
}
const CHARSET = /^[\w.:+-]{1,40}$/

/** Whether a page without a media type is HTML, by its first bytes. */
const startsAsHtml = (start: readonly Uint8Array[]): boolean => seemsHtml(prefixOf(start, FIRST_BYTES))

function readHead(
  url: string,
  start: readonly Uint8Array[],
  header: string | null,
  names: readonly string[],
  statements: PageStatements,
  rules: RobotsMeta[],
): void {
  const encoding =
    declaredEncoding(prefixOf(start, BOM_BYTES), header) ?? encodingOf(prefixOf(start, SAMPLE_BYTES), header)
  statements.charset = encoding.toLowerCase()
  if (encoding === 'replacement') return // hides markup; no browser reads it
  const canonical: string[] = []
  let base: string | undefined
  let apart = 0
  readHeadTags(start, encoding, isXmlType(mediaTypeOf(header)), (tag, toText) => {
    const { name, isClosing } = tag
    if (name === 'noscript' || name === 'template') apart = Math.max(0, apart + (isClosing ? -1 : 1))
    if (isClosing) return true
    // Any element but these begins the visible page. The content of noscript and template is not part of the head and does not end it.
    if (apart === 0 && !IN_HEAD.has(name)) return false
    if (name === 'meta') {
      if (isMeant(tag.attribute('name', toText)?.trim().toLowerCase() ?? '', names))
        rules.push(
          ...parseRobotsMeta(tag.attribute('content', toText)?.trim() ?? '').filter(({ agent }) => agent === '*'),
        )
    } else if (name === 'link') {
      if (isCanonical(tag.attribute('rel', toText) ?? '')) canonical.push(tag.attribute('href', toText)?.trim() ?? '')
    } else if (name === 'html') {
      const language = languageIn([tag.attribute('lang', toText) ?? ''])
      if (language !== undefined) statements.language = language
    } else if (name === 'base') base ??= tag.attribute('href', toText)
    return true
  })
  const from = base === undefined ? url : baseOf(base, url, encoding)
  for (const href of statements.canonical === undefined ? canonical : []) {
    const page = href === '' ? undefined : pageUrl(href, from, encoding)
    if (page === undefined) continue
    statements.canonical = page
    break
  }
}

/** Encodings in which bytes below 128 are not always ASCII: the text must be decoded before markup can be found. */
const NOT_BY_BYTES: ReadonlySet<string> = new Set(['UTF-16LE', 'UTF-16BE', 'ISO-2022-JP'])

/**
 * Most heads are short, so few bytes are read first, then four times as many. Markup is ASCII: it is searched in the raw bytes, and
 * only the values that are needed are decoded.
 */
function readHeadTags(
  start: readonly Uint8Array[],
  encoding: string,
  isXml: boolean,
  onTag: (tag: HeadTag, toText?: (raw: string) => string) => boolean,
): void {
  const isByBytes = !NOT_BY_BYTES.has(encoding)
  const toText = (raw: string): string =>
    isAscii(raw) ? raw : wholeDecoderOf(encoding).decode(Buffer.from(raw, 'latin1'))
  const read = isByBytes ? (tag: HeadTag) => onTag(tag, toText) : (tag: HeadTag) => onTag(tag)
  for (let [at, bytes] = [0, FIRST_BYTES]; at >= 0; bytes *= 4) {
    const most = Math.min(bytes, HEAD_BYTES)
    const piece = prefixOf(start, most)
    at = readTags(isByBytes ? latin1(piece) : wholeDecoderOf(encoding).decode(piece), at, read, isXml)
    if (piece.length < most || most === HEAD_BYTES) return
  }
}

const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

function prefixOf(start: readonly Uint8Array[], bytes: number): Uint8Array {
  const [first = EMPTY] = start
  if (start.length <= 1 || first.length >= bytes) return first.length <= bytes ? first : first.subarray(0, bytes)
  let [wanted, length] = [0, 0]
  for (; wanted < start.length && length < bytes; wanted++) length += start[wanted]?.length ?? 0
  return Buffer.concat(start.slice(0, wanted)).subarray(0, bytes)
}
const EMPTY = new Uint8Array()

const isMeant = (agent: string, names: readonly string[]): boolean =>
  agent === '*' || agent === 'robots' || names.includes(agent)

/** Flags without those that only repeat the default; `none` is expanded. */
function wordsOf(rules: readonly RobotsMeta[]): string[] {
  if (rules.length === 0) return []
  const words = new Set<string>()
  for (const { flags, noindex, nofollow } of rules) {
    if (noindex) words.add('noindex')
    if (nofollow) words.add('nofollow')
    for (const flag of flags) if (!['all', 'index', 'follow', 'none'].includes(flag)) words.add(flag)
  }
  return [...words].sort()
}

/** The first `rel=canonical` of Link headers (RFC 8288). Bytes beyond ASCII are kept as in a Location header. */
function canonicalIn(links: readonly string[], url: string): string | undefined {
  for (const link of links)
    for (const [, href = '', parameters = ''] of link.slice(0, 16_384).matchAll(/<([^<>]*)>([^<>]*)/g))
      for (const [, quoted, bare = ''] of parameters.matchAll(/;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/gi))
        if (isCanonical(quoted ?? bare)) return pageUrl(bytesEncoded(href), url)
  return undefined
}

const isCanonical = (relations: string): boolean =>
  relations.length >= 'canonical'.length && /(^|\s)canonical(\s|$)/i.test(relations)

function pageUrl(href: string, base: string, encoding?: string): string | undefined {
  const url = absolute(href, base, encoding)
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  if (url.href.includes('#')) url.hash = '' // setting the hash costs as much as parsing the URL
  return url.href
}

/** A single language, which may be repeated; a list describes several audiences, not the language of the text. */
function languageIn(values: readonly string[]): string | undefined {
  const [language, ...others] = new Set(values.map((value) => value.trim().toLowerCase()))
  return language !== undefined && others.length === 0 && LANGUAGE.test(language) ? language : undefined
}
