/**
 * The URLs in an XML sitemap or a feed (sitemaps.org; RSS 0.9 to 2.0; Atom 0.3 and 1.0, RFC 4287), with any element prefixes and
 * anything in front. Only tags are read, so memory does not grow with the file.
 */
import { MAX_URL_CHARS } from '@decorum/protocol/origin'
import { decodeXML } from 'entities/decode'
import { absolute } from './absolute.ts'
import { TagReader } from './tags.ts'

export type SitemapEntry = { kind: 'page' | 'sitemap'; url: string }

/** The outermost element of each form. */
const ROOTS: ReadonlySet<string> = new Set(['urlset', 'sitemapindex', 'rss', 'rdf', 'feed'])
/** The element that stands for one URL, and its child that holds the URL. */
const ENTRIES: Record<string, string> = { url: 'loc', sitemap: 'loc', item: 'link', entry: 'link' }
const WANTED: ReadonlySet<string> = new Set([...ROOTS, ...Object.keys(ENTRIES), 'loc', 'link', 'guid', 'source'])

export class XmlReader {
  readonly #tags: TagReader
  /** the URL of the file: addresses in a feed are relative to it */
  readonly #url: string | undefined
  #base: string | undefined
  #found: SitemapEntry[] = []
  /** the open entry: its name, the prefix of its elements, whether its URL was found */
  #entry = ''
  #prefix = ''
  #isNamed = false
  /** the id of an item, in case it has no link */
  #guid = ''
  /** an Atom entry may contain its source feed, which has links that are not the entry's */
  #isInSource = false
  /** the element whose text is being read, and that text */
  #field = ''
  #text = ''

  /** Whether the file is a sitemap or a feed, even one without URLs. */
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

  /** Reads an Atom link. */
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

/** An absolute http or https URL; undefined: the text is none. */
export function entryOf(kind: SitemapEntry['kind'], text: string): SitemapEntry | undefined {
  const url = text.length > MAX_URL_CHARS ? null : URL.parse(text.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  url.hash = ''
  return { kind, url: url.href }
}
