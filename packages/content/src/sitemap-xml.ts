/**
 * The URLs in an XML sitemap or a feed (sitemaps.org; RSS 0.9 to 2.0; Atom 0.3 and 1.0, RFC 4287). Element prefixes, and any text in
 * front, are accepted. Only tags are read, so memory does not grow with the file.
 */
import { MAX_URL_CHARS } from '@decorum/protocol/origin'
import { decodeXML } from 'entities/decode'
import { absolute } from './absolute.ts'
import { tagReader } from './tags.ts'

export type SitemapEntry = { kind: 'page' | 'sitemap'; url: string }

/** The outermost element of each form. */
const ROOTS: ReadonlySet<string> = new Set(['urlset', 'sitemapindex', 'rss', 'rdf', 'feed'])
/** The element that stands for one URL, and its child that holds the URL. */
const ENTRIES: Record<string, string> = { url: 'loc', sitemap: 'loc', item: 'link', entry: 'link' }
const WANTED: ReadonlySet<string> = new Set([...ROOTS, ...Object.keys(ENTRIES), 'loc', 'link', 'guid', 'source'])

/** Reads a file piece by piece. `isKnown`: whether the file is a sitemap or a feed, even one without URLs. */
export type SitemapReader = { readonly isKnown: boolean; read(text: string): SitemapEntry[] }

/** @param url  of the file: addresses in a feed are relative to it */
export function xmlReader(url: string | undefined): SitemapReader {
  let isKnown = false
  let base = url
  let found: SitemapEntry[] = []
  /** the open entry: its name, the prefix of its elements, whether its URL was found */
  let entry = ''
  let entryPrefix = ''
  let isNamed = false
  /** the id of an item, in case it has no link */
  let guid = ''
  /** an Atom entry may contain its source feed, which has links that are not the entry's */
  let isInSource = false
  /** the element whose text is being read, and that text */
  let field = ''
  let content = ''

  const tags = tagReader(
    WANTED,
    {
      onTag: open,
      onEnd: close,
      onText: (text) => {
        if (content.length <= MAX_URL_CHARS) content += text
      },
    },
    { isXml: true },
  )

  function open(element: string, attributes: ReadonlyMap<string, string>): void {
    const [prefix, name] = partsOf(element)
    if (ROOTS.has(name)) {
      isKnown = true
      base = baseIn(attributes, url)
    } else if (name in ENTRIES) {
      endEntry()
      entry = name
      entryPrefix = prefix
      if (name === 'entry') base = baseIn(attributes, base)
    } else if (name === 'source') isInSource = entry === 'entry'
    else if (entry === '' || isInSource) return
    else if (name === 'link' && entry === 'entry') readLink(attributes)
    else if (prefix === entryPrefix && isField(name, attributes)) {
      field = name
      content = ''
      tags.wantsText = true
    }
  }

  function isField(name: string, attributes: ReadonlyMap<string, string>): boolean {
    const isGuid = name === 'guid' && entry === 'item'
    return isGuid ? attributes.get('ispermalink')?.toLowerCase() !== 'false' : ENTRIES[entry] === name
  }

  function close(element: string): void {
    const [prefix, name] = partsOf(element)
    if (name === 'source') isInSource = false
    if (name === entry && prefix === entryPrefix) endEntry()
    if (name !== field || prefix !== entryPrefix) return
    endField()
    const text = decodeXML(content)
    if (name === 'guid') guid = text
    else add(text)
  }

  /** Reads an Atom link. */
  function readLink(attributes: ReadonlyMap<string, string>): void {
    const rel = attributes.get('rel')?.trim().toLowerCase() ?? 'alternate'
    const href = attributes.get('href')?.trim()
    if (rel !== 'alternate' || !href || isNamed) return
    add((base === undefined ? undefined : absolute(href, baseIn(attributes, base) ?? base))?.href ?? href)
  }

  function endEntry(): void {
    if (entry === 'item' && !isNamed && guid !== '') add(guid)
    entry = ''
    guid = ''
    isNamed = false
    isInSource = false
    endField()
  }

  function endField(): void {
    field = ''
    tags.wantsText = false
  }

  function add(text: string): void {
    const one = entryOf(entry === 'sitemap' ? 'sitemap' : 'page', text)
    if (one === undefined) return
    isNamed = true
    found.push(one)
  }

  return {
    get isKnown() {
      return isKnown
    },
    read(text) {
      tags.write(text)
      const some = found
      found = []
      return some
    },
  }
}

function baseIn(attributes: ReadonlyMap<string, string>, base: string | undefined): string | undefined {
  const own = attributes.get('xml:base')
  return own === undefined || base === undefined ? base : (absolute(own, base)?.href ?? base)
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
