/** Links of an HTML page: absolute, without duplicates, in page order. */
import { parseRobotsMeta } from '@decorum/robots/meta'
import { absolute, baseOf } from './absolute.ts'
import { refreshTarget } from './refresh.ts'
import { tagReader } from './tags.ts'

export type Link = {
  /** http or https, without fragment */
  url: string
  /** true: every link to it is rel=nofollow, or the page or its X-Robots-Tag has nofollow for all links */
  nofollow: boolean
}

/** A page with more links than this is not a useful source of links. */
export const MAX_LINKS = 100_000
/** Most characters of all addresses together: a base of 8,192 characters would turn a page of short links into a large answer. */
const MAX_LINK_CHARS = 32 * 1024 * 1024

/** The attribute that holds the address, per element. */
const LINKING: Record<string, string> = { a: 'href', area: 'href', iframe: 'src', frame: 'src' }
const WANTED: ReadonlySet<string> = new Set([...Object.keys(LINKING), 'base', 'meta'])
/** Relations are separated by whitespace; Google also accepts the commas that some sites write. */
const NOFOLLOW = /(^|[\s,])nofollow([\s,]|$)/i

export type LinkOptions = {
  /** the encoding of the page, in which the queries of its links are sent */
  encoding?: string
  isXml?: boolean
  /** the value of the Refresh header */
  refresh?: string | null
  /** the base of the page, if an earlier reading found it */
  base?: string
}

export type LinkReader = {
  write(text: string): void
  /**
   * A base behind the first links applies to those links as well. Reading stops there: the page must be read again with the base,
   * because keeping the unresolved links would keep the page in memory.
   */
  readonly lateBase: string | undefined
  end(): Link[]
}

/** @param url  of the page. @param xRobotsTag  the values of that header */
export function linkReader(url: string, xRobotsTag: readonly string[] = [], options: LinkOptions = {}): LinkReader {
  const { encoding = 'UTF-8', isXml = false, refresh } = options
  const found = new Map<string, boolean>()
  let base = options.base ?? url
  let hasBase = options.base !== undefined
  let lateBase: string | undefined
  let allNofollow = isNofollow([...xRobotsTag])
  let chars = 0
  const hasRoom = (): boolean => found.size < MAX_LINKS && chars < MAX_LINK_CHARS

  function onTag(element: string, attributes: ReadonlyMap<string, string>, isForeign: boolean): void {
    if (element === 'base') setBase(attributes.get('href'))
    else if (element === 'meta') readMeta(attributes)
    else add(addressIn(element, attributes, isForeign), NOFOLLOW.test(attributes.get('rel') ?? ''))
  }

  /** The first base that has an address counts. */
  function setBase(href: string | undefined): void {
    if (href === undefined || hasBase) return
    hasBase = true
    base = baseOf(href, url, encoding)
    if (found.size > 0 && base !== url) lateBase = base
  }

  function readMeta(attributes: ReadonlyMap<string, string>): void {
    const content = attributes.get('content') ?? ''
    if (attributes.get('http-equiv')?.trim().toLowerCase() === 'refresh') add(refreshTarget(content), false)
    if (attributes.get('name')?.trim().toLowerCase() === 'robots') allNofollow ||= isNofollow(content)
  }

  function add(href: string | undefined, nofollow: boolean): void {
    const address = href === undefined ? undefined : absolute(href, base, encoding)
    if (address === undefined || !/^https?:$/.test(address.protocol) || !hasRoom()) return
    if (address.hash !== '' || address.href.endsWith('#')) address.hash = ''
    const before = found.get(address.href)
    if (before === undefined) chars += address.href.length
    found.set(address.href, (before ?? true) && nofollow)
  }

  const tags = tagReader(WANTED, { onTag }, { isXml })
  if (refresh) add(refreshTarget(refresh), false)
  return {
    write(text) {
      if (lateBase === undefined && hasRoom()) tags.write(text)
    },
    get lateBase() {
      return lateBase
    },
    end() {
      tags.end()
      return [...found].map(([address, nofollow]) => ({ url: address, nofollow: nofollow || allNofollow }))
    },
  }
}

const isNofollow = (rules: string | string[]): boolean =>
  parseRobotsMeta(rules).some(({ agent, nofollow }) => agent === '*' && nofollow)

function addressIn(element: string, attributes: ReadonlyMap<string, string>, isForeign: boolean): string | undefined {
  const address = attributes.get(LINKING[element] as string)
  return address === undefined && isForeign && element === 'a' ? attributes.get('xlink:href') : address
}
