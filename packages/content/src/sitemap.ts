/**
 * A sitemap as a stream (sitemaps.org): the pages of an urlset, the sitemaps of an index, or a text with one URL per line. The
 * tokenizer of htmlparser2 alone, so that memory does not grow with what the file holds.
 */

import { Readable } from 'node:stream'
import { createGunzip, type Gunzip } from 'node:zlib'
import { Tokenizer } from 'htmlparser2'
import { ContentError } from './errors.ts'

export type SitemapEntry = { kind: 'page' | 'sitemap'; url: string }

/** What the protocol allows one file to have: 50 MB and 50,000 URLs; what is beyond is not read. */
export const SITEMAP_MAX_BYTES = 52_428_800
export const SITEMAP_MAX_ENTRIES = 50_000
const MAX_URL_CHARS = 8_192

/**
 * @param body  without its content coding; a file that is itself packed with gzip is unpacked
 * @throws ContentError `damaged` when it is cut off inside gzip; what `body` throws
 */
export async function* readSitemap(body: AsyncIterable<Uint8Array>): AsyncGenerator<SitemapEntry> {
  const decoder = new TextDecoder('utf-8')
  let reader: XmlReader | TextReader | undefined
  let bytes = 0
  let entries = 0
  for await (const piece of unpacked(body)) {
    const room = SITEMAP_MAX_BYTES - bytes
    bytes += piece.length
    const text = decoder.decode(piece.length > room ? piece.subarray(0, room) : piece, { stream: true })
    if (reader === undefined && text.trim() === '') continue
    reader ??= text.trimStart().startsWith('<') ? new XmlReader() : new TextReader()
    for (const entry of reader.read(text)) {
      yield entry
      if (++entries >= SITEMAP_MAX_ENTRIES) return
    }
    if (bytes >= SITEMAP_MAX_BYTES) return
  }
  for (const entry of reader?.read('\n') ?? []) if (entries++ < SITEMAP_MAX_ENTRIES) yield entry
}

/** By its first bytes, because servers name such files in every way. */
async function* unpacked(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]()
  let start: Uint8Array = new Uint8Array()
  while (start.length < 2) {
    const next = await pieces.next()
    if (next.done === true) break
    start = start.length === 0 ? next.value : Buffer.concat([start, next.value])
  }
  if (start.length === 0) return
  const rest = (async function* () {
    yield start
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value
  })()
  if (start[0] !== 0x1f || start[1] !== 0x8b) return yield* rest
  const gunzip: Gunzip = createGunzip()
  let elsewhere: Error | undefined
  const source = Readable.from(rest, { objectMode: false }).on('error', (error: Error) => {
    elsewhere = error
    gunzip.destroy(error)
  })
  source.pipe(gunzip)
  try {
    for await (const piece of gunzip) yield piece as Uint8Array
  } catch (error) {
    if (elsewhere !== undefined) throw elsewhere
    throw new ContentError('damaged', `the sitemap cannot be unpacked: ${(error as Error).message}`, error)
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

class TextReader {
  #rest = ''

  read(text: string): SitemapEntry[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r/)
    this.#rest = (lines.pop() ?? '').slice(0, MAX_URL_CHARS + 1)
    return lines.flatMap((line) => entryOf('page', line))
  }
}

class XmlReader {
  readonly #tokenizer: Tokenizer
  #window = ''
  #windowAt = 0
  #dealtWith = 0
  #kind: SitemapEntry['kind'] = 'page'
  /** the text of the `loc` that is open */
  #loc: string | undefined
  #found: SitemapEntry[] = []

  constructor() {
    const text = (start: number, end: number): string => {
      this.#dealtWith = end
      return this.#window.slice(start - this.#windowAt, end - this.#windowAt)
    }
    const past = (_start: number, end: number): void => {
      this.#dealtWith = end
    }
    const add = (more: string): void => {
      if (this.#loc !== undefined && this.#loc.length <= MAX_URL_CHARS) this.#loc += more
    }
    this.#tokenizer = new Tokenizer(
      { decodeEntities: true, xmlMode: true },
      {
        onopentagname: (start, end) => {
          const name = end - start > 16 ? '' : text(start, end)
          if (name === 'url' || name === 'sitemap') this.#kind = name === 'url' ? 'page' : 'sitemap'
          this.#loc = name === 'loc' ? '' : undefined
        },
        onclosetag: (start, end) => {
          if (this.#loc !== undefined && end - start === 3 && text(start, end) === 'loc')
            this.#found.push(...entryOf(this.#kind, this.#loc))
          this.#loc = undefined
          this.#dealtWith = end
        },
        ontext: (start, end) => {
          if (this.#loc !== undefined) add(text(start, end))
          this.#dealtWith = end
        },
        ontextentity: (codepoint, end) => {
          add(String.fromCodePoint(codepoint))
          this.#dealtWith = end
        },
        oncdata: (start, end, endOffset) => {
          if (this.#loc !== undefined) add(text(start, end - endOffset))
          this.#dealtWith = end
        },
        onattribname: past,
        onattribdata: past,
        onattribentity: () => undefined,
        onattribend: (_quote, end) => {
          this.#dealtWith = end
        },
        onopentagend: () => undefined,
        onselfclosingtag: () => undefined,
        oncomment: past,
        ondeclaration: past,
        onprocessinginstruction: past,
        onend: () => undefined,
      },
    )
  }

  read(text: string): SitemapEntry[] {
    this.#window = this.#window.slice(this.#dealtWith - this.#windowAt) + text
    this.#windowAt = this.#dealtWith
    this.#tokenizer.write(text)
    const found = this.#found
    this.#found = []
    return found
  }
}

function entryOf(kind: SitemapEntry['kind'], text: string): SitemapEntry[] {
  const url = text.length > MAX_URL_CHARS ? null : URL.parse(text.trim())
  if (url === null || !/^https?:$/.test(url.protocol)) return []
  url.hash = ''
  return [{ kind, url: url.href }]
}
