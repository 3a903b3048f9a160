/** Links of an HTML page: absolute, without duplicates, in page order. */
import { parseRobotsMeta } from '@decorum/robots/meta'
import { absolute, baseOf } from './absolute.ts'
import { refreshTarget } from './refresh.ts'
import { TagReader } from './tags.ts'

export type Link = {
  /** http or https, without fragment */
  url: string
  /** every link to it is rel=nofollow, or the page or its X-Robots-Tag says so for all */
  nofollow: boolean
}

/** A page with more links than this is not a useful source of links. */
export const MAX_LINKS = 100_000
/** The limit for their addresses together, characters: a base of 8,192 would turn a page of short links into a large answer. */
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
  /** the value of X-Robots-Tag */
  refresh?: string | null
  /** the base of the page, if an earlier reading found it */
  base?: string
}

export class LinkReader {
  readonly #found = new Map<string, boolean>()
  readonly #tags: TagReader
  readonly #url: string
  readonly #encoding: string
  #base: string
  #hasBase: boolean
  #lateBase: string | undefined
  #allNofollow: boolean
  #chars = 0

  /** @param url  of the page. @param xRobotsTag  the values of that header */
  constructor(url: string, xRobotsTag: readonly string[] = [], options: LinkOptions = {}) {
    const { encoding = 'UTF-8', isXml = false, refresh, base } = options
    this.#url = url
    this.#encoding = encoding
    this.#base = base ?? url
    this.#hasBase = base !== undefined
    this.#allNofollow = parseRobotsMeta([...xRobotsTag]).some(({ agent, nofollow }) => agent === '*' && nofollow)
    const onTag = (element: string, attributes: ReadonlyMap<string, string>, isForeign: boolean): void => {
      if (element === 'base') this.#setBase(attributes.get('href'))
      else if (element === 'meta') this.#meta(attributes)
      else this.#add(addressIn(element, attributes, isForeign), NOFOLLOW.test(attributes.get('rel') ?? ''))
    }
    this.#tags = new TagReader(WANTED, { onTag }, { isXml })
    if (refresh) this.#add(refreshTarget(refresh), false)
  }

  write(text: string): void {
    if (this.#lateBase === undefined && this.#hasRoom()) this.#tags.write(text)
  }

  /**
   * A base behind the first links applies to those links as well. Reading stops there: the page must be read again with the base,
   * because keeping the unresolved links would keep the page in memory.
   */
  get lateBase(): string | undefined {
    return this.#lateBase
  }

  end(): Link[] {
    this.#tags.end()
    return [...this.#found].map(([url, nofollow]) => ({ url, nofollow: nofollow || this.#allNofollow }))
  }

  #hasRoom(): boolean {
    return this.#found.size < MAX_LINKS && this.#chars < MAX_LINK_CHARS
  }

  /** The first base that has an address counts. */
  #setBase(href: string | undefined): void {
    if (href === undefined || this.#hasBase) return
    this.#hasBase = true
    this.#base = baseOf(href, this.#url, this.#encoding)
    if (this.#found.size > 0 && this.#base !== this.#url) this.#lateBase = this.#base
  }

  #meta(attributes: ReadonlyMap<string, string>): void {
    const content = attributes.get('content') ?? ''
    if (attributes.get('http-equiv')?.trim().toLowerCase() === 'refresh') this.#add(refreshTarget(content), false)
    if (attributes.get('name')?.trim().toLowerCase() !== 'robots') return
    this.#allNofollow ||= parseRobotsMeta(content).some(({ agent, nofollow }) => agent === '*' && nofollow)
  }

  #add(href: string | undefined, nofollow: boolean): void {
    const url = href === undefined ? undefined : absolute(href, this.#base, this.#encoding)
    if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || !this.#hasRoom()) return
    if (url.hash !== '' || url.href.endsWith('#')) url.hash = ''
    const before = this.#found.get(url.href)
    if (before === undefined) this.#chars += url.href.length
    this.#found.set(url.href, (before ?? true) && nofollow)
  }
}

function addressIn(element: string, attributes: ReadonlyMap<string, string>, isForeign: boolean): string | undefined {
  const address = attributes.get(LINKING[element] as string)
  return address === undefined && isForeign && element === 'a' ? attributes.get('xlink:href') : address
}
