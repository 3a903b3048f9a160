/** The content of one kept page. Its record is read on the first call. */
import { Readable } from 'node:stream'
import { codingsOf, contentTypeOf, isHtmlType, isXmlType, linesOf, mediaTypeOf } from '@decorum/protocol/headers'
import { ByteInput, gathered, type Pieces } from './coding/byte-input.ts'
import { decoded } from './decode.ts'
import type { Link, LinkReader } from './links.ts'
import type { PageRecord } from './record.ts'

export type ContentHead = { url: string; status: number; headers: readonly (readonly [string, string])[] }

/** Most decoded bytes of one page, unless `maxBytes` says otherwise. The fetcher measures decoded lengths up to the same limit. */
export const MAX_BYTES = 64 * 1024 * 1024

/**
 * Encodings and links are loaded when the first page is read, because most processes that pass content on read none, and loading
 * takes 60 ms of CPU and 20 MB (docs/decisions/0010-compiled-code-is-kept.md).
 */
const load = async () => ({ ...(await import('./charset.ts')), ...(await import('./links.ts')) })
let loaded: ReturnType<typeof load> | undefined
const forReading = (): ReturnType<typeof load> => (loaded ??= load())

export class Content {
  readonly url: string
  readonly status: number
  readonly #fields: ContentHead['headers']
  readonly #open: () => Promise<PageRecord>
  readonly #maxBytes: number
  #headers: Headers | undefined
  /** a small record stays in memory for the next call */
  #small: PageRecord | undefined

  /** @param open  reads the record; may be called again */
  constructor(head: ContentHead | PageRecord, open: () => Promise<PageRecord>, maxBytes = MAX_BYTES) {
    this.url = head.url
    this.status = head.status
    this.#fields = head.headers
    this.#open = open
    this.#maxBytes = maxBytes
    if ('body' in head) this.#keepSmall(head)
  }

  /** The header as received, without fields that the standard does not allow. */
  get headers(): Headers {
    this.#headers ??= headersOf(this.#fields)
    return this.#headers
  }

  /** The body without its content coding, in memory as a whole. @throws ContentError */
  async bytes(): Promise<Uint8Array> {
    return gathered(await this.#decoded())
  }

  /** The body as text: encoding by byte order mark, header, meta. @throws ContentError */
  async text(): Promise<string> {
    const bytes = await this.bytes()
    const { decoderOf, encodingOf } = await forReading()
    return decoderOf(encodingOf(bytes, this.#type())).decode(bytes)
  }

  /** The body without its content coding, piece by piece. Errors are ContentErrors of the stream. */
  stream(): Readable {
    return Readable.from(this.#all(), { objectMode: false })
  }

  async *#all(): AsyncGenerator<Uint8Array> {
    yield* await this.#decoded()
  }

  /**
   * Links of an HTML page (a, area, iframe, frame, and the target of a refresh), read as a stream; none for anything else. Content-Type
   * decides whether it is HTML, or, without one, the first byte. @throws ContentError
   */
  async links(): Promise<Link[]> {
    if (isHtmlType(mediaTypeOf(this.#type())) === false) return []
    const first = await this.#readLinks()
    const reader = first?.lateBase === undefined ? first : await this.#readLinks(first.lateBase)
    return reader?.end() ?? []
  }

  /** @param base  of the page, if an earlier reading found it behind links. @returns undefined: the page is no HTML */
  async #readLinks(base?: string): Promise<LinkReader | undefined> {
    const { encodingOf, linkReader, SAMPLE_BYTES, seemsHtml, textOf } = await forReading()
    const input = new ByteInput(await this.#decoded())
    try {
      const sample = await input.peek(SAMPLE_BYTES)
      const media = mediaTypeOf(this.#type())
      if (isHtmlType(media) === undefined && !seemsHtml(sample)) return undefined
      const encoding = encodingOf(sample, this.#type())
      const tags = linesOf(this.#fields, 'x-robots-tag')
      const refresh = this.headers.get('refresh')
      const reader = linkReader(this.url, tags, { encoding, isXml: isXmlType(media), refresh, ...(base && { base }) })
      for await (const text of textOf(input, encoding)) {
        reader.write(text)
        if (reader.lateBase !== undefined) break
      }
      return reader
    } finally {
      await input.close()
    }
  }

  async #decoded(): Promise<Pieces> {
    const record = this.#small ?? (await this.#open())
    this.#keepSmall(record)
    return decoded(record, codingsOf(this.#fields), this.#maxBytes)
  }

  #keepSmall(record: PageRecord): void {
    if (record.body instanceof Uint8Array) this.#small = record
  }

  #type(): string | null {
    return contentTypeOf(this.#fields) ?? null
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
