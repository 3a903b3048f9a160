/**
 * A sitemap as a stream (sitemaps.org): an urlset, an index, an RSS or Atom feed, or a text with one URL per line; packed or
 * not, in any encoding that its bytes, its header or its declaration name.
 */

import { MAX_URL_CHARS } from '@decorum/protocol/origin'
import { encodingOf, latin1, SAMPLE_BYTES, textOf } from './charset.ts'
import { ByteInput } from './coding/byte-input.ts'
import { gunzip, isGzip } from './coding/decoders.ts'
import { ContentError } from './errors.ts'
import { entryOf, type SitemapEntry, type SitemapReader, xmlReader } from './sitemap-xml.ts'

export type SitemapSource = {
  /** Content-Type as received */
  type?: string | null
  /** the URL of the file: relative addresses of an Atom feed are resolved against it */
  url?: string
  /** the body is known to be cut, so that its last line may be incomplete */
  isCut?: boolean
}

/** The body is no sitemap; the message says what it is. */
export class SitemapError extends Error {
  override readonly name = 'SitemapError'
}

/** Limits of the protocol for one file: 50 MB and 50,000 URLs; the rest is not read. */
export const SITEMAP_MAX_BYTES = 52_428_800
export const SITEMAP_MAX_ENTRIES = 50_000
/** How often a file may be packed: some servers compress a packed file once more. */
const MOST_LAYERS = 2

/**
 * Entries before an error are yielded, then the error is thrown.
 * @param body  without its content coding; a file that is itself packed with gzip is unpacked
 * @throws SitemapError, ContentError `damaged` when gzip cannot be unpacked; what `body` throws
 */
export async function* readSitemap(
  body: AsyncIterable<Uint8Array>,
  { type = null, url, isCut = false }: SitemapSource = {},
): AsyncGenerator<SitemapEntry> {
  let reader: SitemapReader | undefined
  let entries = 0
  let start = ''
  let pieces = body
  for (let layer = 0; layer < MOST_LAYERS; layer++) pieces = unpacked(pieces)
  const bounded = new Bounded(pieces)
  const input = new ByteInput(bounded.pieces())
  const encoding = encodingIn(await input.peek(SAMPLE_BYTES), type)
  for await (const text of textOf(input, encoding)) {
    if (reader === undefined && text.trim() === '') continue
    if (reader === undefined) {
      start = text.slice(0, 65_536)
      reader = isMarkup(start) ? xmlReader(url) : textReader()
    }
    for (const entry of reader.read(text)) {
      yield entry
      if (++entries >= SITEMAP_MAX_ENTRIES) return
    }
  }
  if (bounded.failure !== undefined) throw bounded.failure.error
  if (!isCut && !bounded.isCut)
    for (const entry of reader?.read('\n') ?? []) if (entries++ < SITEMAP_MAX_ENTRIES) yield entry
  if (entries === 0 && reader?.isKnown !== true) throw new SitemapError(whatElse(start))
}

/** An XML declaration counts even when other text precedes it, such as a PHP warning. */
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

/** The first bytes of a file, up to the limit or to the first error. */
class Bounded {
  /** whether the file continues beyond the limit */
  isCut = false
  failure: { error: unknown } | undefined
  readonly #source: AsyncIterable<Uint8Array>

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    let room = SITEMAP_MAX_BYTES
    try {
      for await (const piece of this.#source) {
        this.isCut = piece.length > room
        yield this.isCut ? piece.subarray(0, room) : piece
        room -= piece.length
        if (this.isCut) return
      }
    } catch (error) {
      this.failure = { error }
    }
  }
}

/** Unpacks a file that is gzip by its first bytes, because file names prove nothing. Trailing faults are ignored, as in browsers. */
async function* unpacked(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const input = new ByteInput(body)
  try {
    if (isGzip(await input.peek(2))) yield* gunzip(input, () => undefined)
    else yield* input
  } catch (error) {
    if (input.failure !== undefined) throw input.failure.error
    throw new ContentError('damaged', `the sitemap cannot be unpacked: ${(error as Error).message}`, error)
  } finally {
    await input.close()
  }
}

function textReader(): SitemapReader {
  let rest = ''
  return {
    isKnown: false,
    read(text) {
      const lines = (rest + text).split(/\r\n|\n|\r/)
      rest = (lines.pop() ?? '').slice(0, MAX_URL_CHARS + 1)
      return lines.map((line) => entryOf('page', urlIn(line))).filter((entry) => entry !== undefined)
    },
  }
}

/** The line without a second column or a comment, which the URL parser would join to the address. */
const urlIn = (line: string): string => line.trim().split(/\t|\s#/, 1)[0] as string
