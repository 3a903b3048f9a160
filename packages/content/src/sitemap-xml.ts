/**
 * What an XML sitemap or a feed names (sitemaps.org; RSS 0.9 to 2.0; Atom 0.3 and 1.0, RFC 4287), whatever prefixes its elements
 * have and whatever stands before it. Only tags are looked at, so memory does not grow with what the file holds.
 */
import { MAX_URL_CHARS } from '@decorum/protocol/origin'
import { decodeXML } from 'entities/decode'
import { absolute } from './absolute.ts'
import { TagReader } from './tags.ts'

export type SitemapEntry = { kind: 'page' | 'sitemap'; url: string }

/** The outermost element of each form. */
const ROOTS: ReadonlySet<string> = new Set(['urlset', 'sitemapindex', 'rss', 'rdf', 'feed'])
/** What names one URL, and the element in it that does. */
const ENTRIES: Record<string, string> = { url: 'loc', sitemap: 'loc', item: 'link', entry: 'link' }
const WANTED: ReadonlySet<string> = new Set([...ROOTS, ...Object.keys(ENTRIES), 'loc', 'link', 'guid', 'source'])

export class XmlReader {
  readonly #tags: TagReader
  /** of the file: what an address of a feed is relative to */
  readonly #url: string | undefined
  #base: string | undefined
  #found: SitemapEntry[] = []
  /** the entry that is open: its name, the prefix of its elements, whether it has named its URL */
  #entry = ''
  #prefix = ''
  #isNamed = false
  /** of an item without a link */
  #guid = ''
  /** an entry of a feed holds what it was taken from, with links of its own */
  #isInSource = false
  /** the element whose text is read, and that text */
  #field = ''
  #text = ''

  /** It is a sitemap or a feed, also when it names nothing. */
  isKnown = false

  constructor(url: string | undefined) {
    this.#url = url
    this.#base = url
    this.#tags = new TagReader(
      WANTED,
      {
        onTag: (name, attributes) => this.#open(name, attributes),
        onEnd: (name) => this.#close(name),
        onText: (text) => {
          if (this.#text.length <= MAX_URL_CHARS) this.#text += text
        },
      },
      { isXml: true },
    )
  }

  read(text: string): SitemapEntry[] {
    this.#tags.write(text)
    const found = this.#found
    this.#found = []
    return found
  }

  #open(element: string, attributes: ReadonlyMap<string, string>): void {
    const [prefix, name] = partsOf(element)
    if (ROOTS.has(name)) {
      this.isKnown = true
      this.#base = this.#baseOf(attributes, this.#url)
    } else if (name in ENTRIES) {
      this.#endEntry()
      this.#entry = name
      this.#prefix = prefix
      if (name === 'entry') this.#base = this.#baseOf(attributes, this.#base)
    } else if (name === 'source') this.#isInSource = this.#entry === 'entry'
    else if (this.#entry === '' || this.#isInSource) return
    else if (name === 'link' && this.#entry === 'entry') this.#link(attributes)
    else if (prefix === this.#prefix && this.#isField(name, attributes)) {
      this.#field = name
      this.#text = ''
      this.#tags.wantsText = true
    }
  }

  #isField(name: string, attributes: ReadonlyMap<string, string>): boolean {
    const isGuid = name === 'guid' && this.#entry === 'item'
    return isGuid ? attributes.get('ispermalink')?.toLowerCase() !== 'false' : ENTRIES[this.#entry] === name
  }

  #close(element: string): void {
    const [prefix, name] = partsOf(element)
    if (name === 'source') this.#isInSource = false
    if (name === this.#entry && prefix === this.#prefix) this.#endEntry()
    if (name !== this.#field || prefix !== this.#prefix) return
    this.#endField()
    const text = decodeXML(this.#text)
    if (name === 'guid') this.#guid = text
    else this.#add(text)
  }

  /** Atom. */
  #link(attributes: ReadonlyMap<string, string>): void {
    const rel = attributes.get('rel')?.trim().toLowerCase() ?? 'alternate'
    const href = attributes.get('href')?.trim()
    if (rel !== 'alternate' || !href || this.#isNamed) return
    const url =
      this.#base === undefined ? undefined : absolute(href, this.#baseOf(attributes, this.#base) ?? this.#base)
    this.#add(url?.href ?? href)
  }

  #endEntry(): void {
    if (this.#entry === 'item' && !this.#isNamed && this.#guid !== '') this.#add(this.#guid)
    this.#entry = ''
    this.#guid = ''
    this.#isNamed = false
    this.#isInSource = false
    this.#endField()
  }

  #endField(): void {
    this.#field = ''
    this.#tags.wantsText = false
  }

  #baseOf(attributes: ReadonlyMap<string, string>, base: string | undefined): string | undefined {
    const own = attributes.get('xml:base')
    return own === undefined || base === undefined ? base : (absolute(own, base)?.href ?? base)
  }

  #add(text: string): void {
    const entry = entryOf(this.#entry === 'sitemap' ? 'sitemap' : 'page', text)
    if (entry === undefined) return
    this.#isNamed = true
    this.#found.push(entry)
  }
}

function partsOf(element: string): [prefix: string, name: string] {
  const colon = element.indexOf(':')
  return [element.slice(0, colon + 1), element.slice(colon + 1)]
}

/** Of an absolute http or https URL; undefined: it is none. */
export function entryOf(kind: SitemapEntry['kind'], text: string): SitemapEntry | undefined {
  const url = text.length > MAX_URL_CHARS ? null : URL.parse(text.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  url.hash = ''
  return { kind, url: url.href }
}
