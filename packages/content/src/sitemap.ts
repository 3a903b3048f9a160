/**
 * A sitemap as a stream (sitemaps.org): an urlset, an index, an RSS or Atom feed, or a text with one URL per line; packed or
 * not, in any encoding that its bytes, its header or its declaration name.
 */

import { Readable } from 'node:stream'
import { createGunzip, type Gunzip } from 'node:zlib'
import { MAX_URL_CHARS } from '@decorum/protocol/origin'
import { encodingOf, latin1, textOf } from './charset.ts'
import { ContentError } from './errors.ts'
import { entryOf, type SitemapEntry, XmlReader } from './sitemap-xml.ts'

export type SitemapSource = {
  /** Content-Type as received */
  type?: string | null
  /** of the file itself: what relative addresses of an Atom feed are relative to */
  url?: string
}

/** What came is no sitemap; the message says what it is. */
export class SitemapError extends Error {
  override readonly name = 'SitemapError'
}

/** What the protocol allows one file to have: 50 MB and 50,000 URLs; what is beyond is not read. */
export const SITEMAP_MAX_BYTES = 52_428_800
export const SITEMAP_MAX_ENTRIES = 50_000
/** A packed file that is served packed once more. */
const MOST_LAYERS = 2

/**
 * @param body  without its content coding; a file that is itself packed with gzip is unpacked
 * @throws SitemapError, ContentError `damaged` when it is cut off inside gzip; what `body` throws
 */
export async function* readSitemap(
  body: AsyncIterable<Uint8Array>,
  { type = null, url }: SitemapSource = {},
): AsyncGenerator<SitemapEntry> {
  let reader: XmlReader | TextReader | undefined
  let entries = 0
  let start = ''
  let pieces = body
  for (let layer = 0; layer < MOST_LAYERS; layer++) pieces = unpacked(pieces)
  for await (const text of textOf(bounded(pieces), (sample) => encodingIn(sample, type))) {
    if (reader === undefined && text.trim() === '') continue
    if (reader === undefined) {
      start = text.slice(0, 65_536)
      reader = isMarkup(start) ? new XmlReader(url) : new TextReader()
    }
    for (const entry of reader.read(text)) {
      yield entry
      if (++entries >= SITEMAP_MAX_ENTRIES) return
    }
  }
  for (const entry of reader?.read('\n') ?? []) if (entries++ < SITEMAP_MAX_ENTRIES) yield entry
  if (entries === 0 && reader?.isKnown !== true) throw new SitemapError(whatElse(start))
}

/** A declaration counts also where something stands before it, as a warning of PHP does. */
function encodingIn(sample: Uint8Array, type: string | null): string {
  const at = latin1(sample).indexOf('<?xml')
  return encodingOf(at > 0 ? sample.subarray(at) : sample, type)
}

const isMarkup = (start: string): boolean =>
  /^\s*<|<\?xml|<([\w.-]{1,32}:)?(urlset|sitemapindex|rss|rdf|feed)[\s>]/i.test(start)

function whatElse(start: string): string {
  if (start === '') return 'the file is empty'
  if (/<!doctype\s+html|<html[\s>]/i.test(start)) return 'this is an HTML page, and no sitemap'
  if (start.includes('\0')) return 'this is neither text nor packed with gzip'
  return isMarkup(start)
    ? 'this is no sitemap: neither an urlset, an index of sitemaps, RSS nor Atom'
    : 'this is no sitemap: neither XML nor a text with one URL per line'
}

async function* bounded(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let room = SITEMAP_MAX_BYTES
  for await (const piece of pieces) {
    yield piece.length > room ? piece.subarray(0, room) : piece
    room -= piece.length
    if (room <= 0) return
  }
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
  isKnown = false
  #rest = ''

  read(text: string): SitemapEntry[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r/)
    this.#rest = (lines.pop() ?? '').slice(0, MAX_URL_CHARS + 1)
    return lines.map((line) => entryOf('page', line)).filter((entry) => entry !== undefined)
  }
}
