/** The content of one kept page. Its record is read on the first call. */
import { Readable } from 'node:stream'
import { codingsOf, contentTypeOf, isHtmlType, isXmlType, linesOf, mediaTypeOf } from '@decorum/protocol/headers'
import { decoded, decodedAtOnce } from './decode.ts'
import type { Link, LinkReader } from './links.ts'
import type { PageRecord } from './record.ts'

export type ContentHead = { url: string; status: number; headers: readonly (readonly [string, string])[] }

/** Most decoded bytes of one page, unless `maxBytes` says otherwise. The fetcher measures decoded lengths up to the same limit. */
export const MAX_BYTES = 64 * 1024 * 1024

/**
 * Encodings and links are loaded when the first page is read, because most processes that pass content on read none, and loading
 * takes 60 ms of CPU and 20 MB (docs/decisions/0010-compiled-code-is-kept.md).
 */
let reading: Promise<typeof import('./charset.ts') & typeof import('./links.ts')> | undefined
const forReading = (): NonNullable<typeof reading> => {
  reading ??= Promise.all([import('./charset.ts'), import('./links.ts')]).then(([charset, links]) => ({
    ...charset,
    ...links,
  }))
  return reading
}

export class Content {
  readonly url: string
  readonly status: number
  readonly #fields: ContentHead['headers']
  readonly #open: () => Promise<PageRecord>
  readonly #maxBytes: number
  #headers: Headers | undefined
  #small: PageRecord | undefined

  /** @param open  reads the record; may be called again */
  constructor({ url, status, headers }: ContentHead, open: () => Promise<PageRecord>, maxBytes = MAX_BYTES) {
    this.url = url
    this.status = status
    this.#fields = headers
    this.#open = open
    this.#maxBytes = maxBytes
  }

  /** The header as received, without fields that the standard does not allow. */
  get headers(): Headers {
    this.#headers ??= headersOf(this.#fields)
    return this.#headers
  }

  /** The body without its content coding, in memory as a whole. @throws ContentError */
  async bytes(): Promise<Uint8Array> {
    const record = await this.#record()
    const atOnce = this.#atOnce(record)
    if (atOnce !== undefined) return atOnce
    const pieces: Uint8Array[] = []
    for await (const piece of this.#pieces(record)) pieces.push(piece)
    return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces)
  }

  /** The body as text: encoding by byte order mark, header, meta. @throws ContentError */
  async text(): Promise<string> {
    const bytes = await this.bytes()
    const { decoderOf, encodingOf, SAMPLE_BYTES } = await forReading()
    return decoderOf(encodingOf(bytes.subarray(0, SAMPLE_BYTES), contentTypeOf(this.#fields) ?? null)).decode(bytes)
  }

  /** The body without its content coding, piece by piece. Errors are ContentErrors of the stream. */
  stream(): Readable {
    return Readable.from(this.#all(), { objectMode: false })
  }

  async *#all(): AsyncGenerator<Uint8Array> {
    yield* this.#pieces(await this.#record())
  }

  /**
   * Links of an HTML page (a, area, iframe, frame, and the target of a refresh), read as a stream; none for anything else. Content-Type
   * decides whether it is HTML, or, without one, the first byte. @throws ContentError
   */
  async links(): Promise<Link[]> {
    const type = contentTypeOf(this.#fields) ?? null
    if (isHtmlType(mediaTypeOf(type)) === false) return []
    const record = await this.#record()
    const first = await this.#readLinks(record, type)
    const base = first?.lateBase
    if (first === undefined || base === undefined) return first?.end() ?? []
    return (await this.#readLinks(await this.#record(), type, base))?.end() ?? []
  }

  /** @param base  of the page, if an earlier reading found it behind links. @returns undefined: it is no HTML */
  async #readLinks(record: PageRecord, type: string | null, base?: string): Promise<LinkReader | undefined> {
    const { encodingOf, linkReader, seemsHtml, textOf } = await forReading()
    const atOnce = this.#atOnce(record)
    let reader: LinkReader | undefined
    const begin = (sample: Uint8Array): string | undefined => {
      const media = mediaTypeOf(type)
      if (isHtmlType(media) === undefined && !seemsHtml(sample)) return undefined
      const encoding = encodingOf(sample, type)
      const tags = linesOf(this.#fields, 'x-robots-tag')
      const refresh = this.headers.get('refresh')
      reader = linkReader(this.url, tags, { encoding, isXml: isXmlType(media), refresh, ...(base && { base }) })
      return encoding
    }
    for await (const text of textOf(atOnce === undefined ? this.#pieces(record) : [atOnce], begin)) {
      reader?.write(text)
      if (reader?.lateBase !== undefined) break
    }
    return reader
  }

  /** A small record stays in memory for the next call. */
  async #record(): Promise<PageRecord> {
    const record = this.#small ?? (await this.#open())
    if (Array.isArray(record.body)) this.#small = record
    return record
  }

  #codings(): string[] {
    return codingsOf(this.#fields)
  }

  /** Decodes a small body in one call, which takes a third of a stream's time; undefined: the body is not small. */
  #atOnce({ body }: PageRecord): Uint8Array | undefined {
    return Array.isArray(body) ? decodedAtOnce(body, this.#codings(), this.#maxBytes) : undefined
  }

  #pieces({ body, truncated }: PageRecord): AsyncGenerator<Uint8Array> {
    return decoded(body, this.#codings(), truncated === '', this.#maxBytes)
  }
}

function headersOf(fields: ContentHead['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of fields) {
    try {
      headers.append(name, value)
    } catch {
      // no valid field (a blank in its name, a NUL in its value)
    }
  }
  return headers
}
