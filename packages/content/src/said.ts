/**
 * What a site says about a page: in its headers and, of an HTML page, in its head, of which at most the first 64 KiB are read.
 * Where the two differ, the stricter robots rules count, the canonical URL of the header, and the language of the page.
 */
import type { PageSays } from '@decorum/protocol/outcome'
import { parseRobotsMeta, type RobotsMeta } from '@decorum/robots/meta'
import { absolute } from './absolute.ts'
import { encodingOf, SAMPLE_BYTES, wholeDecoderOf } from './charset.ts'
import { type HeadTag, readTags } from './head-tags.ts'

/** Decoded bytes of an HTML page that are looked at. */
export const HEAD_BYTES = 64 * 1024
/** Decoded at first. */
const FIRST_BYTES = 1_024

const HTML = /^[ \t]*(text\/html|application\/xhtml\+xml)[ \t]*(;|$)/i
const LANGUAGE = /^[a-z]{1,8}(-[a-z0-9]{1,8}){0,7}$/i
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?([\w.:+-]{1,40})/i
const WANTED: ReadonlySet<string> = new Set(['html', 'base', 'meta', 'link'])
/** Elements after which a head may go on; any other one begins the body, also where no `body` is written (HTML standard, 13.2.6.4.4). */
const IN_HEAD: ReadonlySet<string> = new Set(
  'html head base basefont bgsound link meta noframes noscript script style template title'.split(' '),
)
/** What these contain is no part of the head, and ends none: `<noscript><img></noscript>` is common there. */
const APART: ReadonlySet<string> = new Set(['noscript', 'template'])

type Fields = readonly (readonly [string, string])[]
/** Runs for each page several times: a name of another length is not compared. */
function valuesOf(headers: Fields, name: string): string[] {
  const values: string[] = []
  for (const [given, value] of headers)
    if (given.length === name.length && given.toLowerCase() === name) values.push(value)
  return values
}

/** Whether the body of an answer with these headers says more than they do. */
export const isHtml = (headers: Fields): boolean => HTML.test(valuesOf(headers, 'content-type')[0] ?? '')

/**
 * @param headers  as received
 * @param names    product tokens of the agent, in lower case: rules for others are left out
 * @param start    of the body without its content coding, in pieces; empty when it is no HTML
 */
export function readSaid(
  url: string,
  headers: Fields,
  names: readonly string[],
  start: readonly Uint8Array[],
): PageSays | undefined {
  const said: PageSays = {}
  const type = valuesOf(headers, 'content-type')[0] ?? null
  const rules = parseRobotsMeta(valuesOf(headers, 'x-robots-tag')).filter((one) => isMeant(one.agent, names))
  const canonical = canonicalIn(valuesOf(headers, 'link'), url)
  const language = languageIn(valuesOf(headers, 'content-language'))
  const charset = CHARSET.exec(type ?? '')?.[1]?.toLowerCase()
  if (canonical !== undefined) said.canonical = canonical
  if (charset !== undefined) said.charset = charset
  if (language !== undefined) said.language = language
  if (start.some(({ length }) => length > 0)) readHead(url, start, type, names, said, rules)
  const robots = wordsOf(rules)
  if (robots.length > 0) said.robots = robots
  return Object.keys(said).length === 0 ? undefined : said
}

function readHead(
  url: string,
  start: readonly Uint8Array[],
  type: string | null,
  names: readonly string[],
  said: PageSays,
  rules: RobotsMeta[],
): void {
  const encoding = encodingOf(prefixOf(start, SAMPLE_BYTES), type)
  said.charset = encoding.toLowerCase()
  if (encoding === 'replacement') return // hides markup; no browser reads it
  let base: string | undefined
  let apart = 0
  const isInHead = ({ name, isClosing }: HeadTag): boolean => {
    if (APART.has(name)) apart = Math.max(0, apart + (isClosing ? -1 : 1))
    return isClosing || apart > 0 || IN_HEAD.has(name) // behind any other element stands what readers see
  }
  readHeadTags(start, encoding, (tag) => {
    if (!isInHead(tag)) return false
    if (tag.isClosing || !WANTED.has(tag.name)) return true
    const attributes = tag.attributes()
    const of = (name: string): string => attributes.get(name)?.trim() ?? ''
    switch (tag.name) {
      case 'html': {
        const language = languageIn([of('lang')])
        if (language !== undefined) said.language = language
        break
      }
      case 'base':
        base ??= absolute(of('href'), url)?.href
        break
      case 'meta':
        if (isMeant(of('name').toLowerCase(), names))
          rules.push(...parseRobotsMeta(of('content')).filter(({ agent }) => agent === '*'))
        break
      case 'link': {
        const isFirst = said.canonical === undefined && isCanonical(of('rel'))
        const canonical = isFirst && of('href') !== '' ? pageUrl(of('href'), base ?? url) : undefined
        if (canonical !== undefined) said.canonical = canonical
        break
      }
    }
    return true
  })
}

/** Most heads are short, so little is decoded at first, and then four times as much as before. */
function readHeadTags(start: readonly Uint8Array[], encoding: string, onTag: (tag: HeadTag) => boolean): void {
  const decoder = wholeDecoderOf(encoding)
  for (let [at, bytes] = [0, FIRST_BYTES]; at >= 0; bytes *= 4) {
    const most = Math.min(bytes, HEAD_BYTES)
    const piece = prefixOf(start, most)
    at = readTags(decoder.decode(piece), at, onTag)
    if (piece.length < most || most === HEAD_BYTES) return
  }
}

function prefixOf(start: readonly Uint8Array[], bytes: number): Uint8Array {
  const [first] = start
  const isEnough = first !== undefined && (start.length === 1 || first.length >= bytes)
  return (isEnough ? first : Buffer.concat(start)).subarray(0, bytes)
}

const isMeant = (agent: string, names: readonly string[]): boolean =>
  agent === '*' || agent === 'robots' || names.includes(agent)

/** Flags without those that only repeat the default; `none` is what it stands for. */
function wordsOf(rules: readonly RobotsMeta[]): string[] {
  const words = new Set<string>()
  for (const { flags, noindex, nofollow } of rules) {
    if (noindex) words.add('noindex')
    if (nofollow) words.add('nofollow')
    for (const flag of flags) if (!['all', 'index', 'follow', 'none'].includes(flag)) words.add(flag)
  }
  return [...words].sort()
}

/** The first `rel=canonical` of Link headers (RFC 8288). */
function canonicalIn(links: readonly string[], url: string): string | undefined {
  for (const link of links)
    for (const [, href = '', parameters = ''] of link.slice(0, 16_384).matchAll(/<([^<>]*)>([^<>]*)/g))
      for (const [, quoted, bare = ''] of parameters.matchAll(/;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/gi))
        if (isCanonical(quoted ?? bare)) return pageUrl(href, url)
  return undefined
}

const isCanonical = (relations: string): boolean => /(^|\s)canonical(\s|$)/i.test(relations)

function pageUrl(href: string, base: string): string | undefined {
  const url = absolute(href, base)
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  if (url.href.includes('#')) url.hash = '' // setting it costs as much as reading the address
  return url.href
}

/** One language; a list is about several audiences and not about the text. */
const languageIn = (values: readonly string[]): string | undefined =>
  values.length === 1 && LANGUAGE.test(values[0]?.trim() ?? '') ? values[0]?.trim().toLowerCase() : undefined
