/** Links of an HTML page: absolute, each once, in the order of the page. */
import { parseRobotsMeta } from '@decorum/robots/meta'
import { absolute } from './absolute.ts'
import { TagReader } from './tags.ts'

export type Link = {
  /** http or https, without fragment */
  url: string
  /** every link to it is rel=nofollow, or the page or its X-Robots-Tag says so for all */
  nofollow: boolean
}

/** A page with more links than this is not a useful source of links. */
export const MAX_LINKS = 100_000

/** The attribute that holds the address, per element. */
const LINKING: Record<string, string> = { a: 'href', area: 'href', iframe: 'src', frame: 'src' }
const WANTED: ReadonlySet<string> = new Set([...Object.keys(LINKING), 'base', 'meta'])

export class LinkReader {
  readonly #found = new Map<string, boolean>()
  readonly #tags: TagReader
  #base: string
  #hasBase = false
  #allNofollow: boolean

  /** @param base  the page's own URL. @param xRobotsTag  the values of that header */
  constructor(base: string, xRobotsTag: readonly string[] = []) {
    this.#base = base
    this.#allNofollow = parseRobotsMeta(xRobotsTag).some(({ agent, nofollow }) => agent === '*' && nofollow)
    this.#tags = new TagReader(WANTED, (element, attributes) => {
      const rel = attributes.get('rel') ?? ''
      if (element === 'base') this.#setBase(attributes.get('href'))
      else if (element === 'meta') this.#meta(attributes)
      else this.#add(attributes.get(LINKING[element] as string), /(^|\s)nofollow(\s|$)/i.test(rel))
    })
  }

  write(text: string): void {
    if (this.#found.size < MAX_LINKS) this.#tags.write(text)
  }

  end(): Link[] {
    this.#tags.end()
    return [...this.#found].map(([url, nofollow]) => ({ url, nofollow: nofollow || this.#allNofollow }))
  }

  /** The first one that names an address counts. */
  #setBase(href: string | undefined): void {
    if (href === undefined || this.#hasBase) return
    this.#hasBase = true
    this.#base = absolute(href, this.#base)?.href ?? this.#base
  }

  #meta(attributes: ReadonlyMap<string, string>): void {
    if (attributes.get('name')?.trim().toLowerCase() !== 'robots') return
    this.#allNofollow ||= parseRobotsMeta(attributes.get('content') ?? '').some(
      ({ agent, nofollow }) => agent === '*' && nofollow,
    )
  }

  #add(href: string | undefined, nofollow: boolean): void {
    const url = href === undefined ? undefined : absolute(href, this.#base)
    if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || this.#found.size >= MAX_LINKS)
      return
    if (url.hash !== '' || url.href.endsWith('#')) url.hash = ''
    this.#found.set(url.href, (this.#found.get(url.href) ?? true) && nofollow)
  }
}
