/** What one kept page says. Its record is read when it is asked for. */
import { Readable } from 'node:stream'
import { codingsOf, decoded, decodedAtOnce } from './decode.ts'
import type { Link } from './links.ts'
import type { PageRecord } from './record.ts'

export type ContentHead = { url: string; status: number; headers: readonly (readonly [string, string])[] }

/** Decoded bytes of one page at most, unless `maxBytes` says otherwise. The fetcher counts a decoded length up to the same. */
export const MAX_BYTES = 64 * 1024 * 1024

/**
 * Encodings and links: loaded when the first page is read, because most processes that hand out content read none, and it takes 60 ms of CPU
 * and 20 MB (docs/decisions/0010-compiled-code-is-kept.md).
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

  /** As received, without fields that the standard does not allow. */
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
    return decoderOf(encodingOf(bytes.subarray(0, SAMPLE_BYTES), this.headers.get('content-type'))).decode(bytes)
  }

  /** The body without its content coding, piece by piece. Errors are ContentErrors of the stream. */
  stream(): Readable {
    const record = (): Promise<PageRecord> => this.#record()
    const pieces = (one: PageRecord): AsyncIterable<Uint8Array> => this.#pieces(one)
    return Readable.from(
      (async function* () {
        yield* pieces(await record())
      })(),
      { objectMode: false },
    )
  }

  /**
   * Links of an HTML page (a, area, iframe, frame), read as a stream; of anything else none. Whether it is HTML its Content-Type
   * says, or, without one, its first byte. @throws ContentError
   */
  async links(): Promise<Link[]> {
    const type = this.headers.get('content-type')
    if (type !== null && !HTML.test(type)) return []
    const record = await this.#record()
    const { decoderOf, encodingOf, LinkReader, SAMPLE_BYTES } = await forReading()
    const reader = new LinkReader(
      this.url,
      this.#fields.filter(([name]) => name.toLowerCase() === 'x-robots-tag').map(([, value]) => value),
    )
    let decoder: ReturnType<typeof decoderOf> | undefined
    let sample: Uint8Array[] = []
    let bytes = 0
    const start = (): void => {
      const first = Buffer.concat(sample)
      sample = []
      decoder = decoderOf(encodingOf(first.subarray(0, SAMPLE_BYTES), type))
      if (type !== null || /^\s*</.test(first.toString('latin1', 0, 1_024).replace(/^\xef\xbb\xbf/, '')))
        reader.write(decoder.decode(first, { stream: true }))
      else bytes = Number.NEGATIVE_INFINITY // not HTML
    }
    const atOnce = this.#atOnce(record)
    for await (const piece of atOnce === undefined ? this.#pieces(record) : [atOnce]) {
      if (decoder !== undefined) reader.write(decoder.decode(piece, { stream: true }))
      else {
        sample.push(piece)
        bytes += piece.length
        if (bytes >= SAMPLE_BYTES) start()
      }
      if (bytes < 0) return []
    }
    if (decoder === undefined) start()
    if (bytes < 0) return []
    reader.write(decoder?.decode() ?? '')
    return reader.end()
  }

  /** A small record stays in memory for the next call. A record whose codings are unknown is not opened. */
  async #record(): Promise<PageRecord> {
    this.#codings()
    const record = this.#small ?? (await this.#open())
    if (Array.isArray(record.body)) this.#small = record
    return record
  }

  #codings(): string[] {
    return codingsOf(this.headers.get('content-encoding'))
  }

  /** A small body in one call, which takes a third of the time of a stream; undefined: it is not small. */
  #atOnce({ body }: PageRecord): Uint8Array | undefined {
    return Array.isArray(body) ? decodedAtOnce(body, this.#codings(), this.#maxBytes) : undefined
  }

  #pieces({ body, truncated }: PageRecord): AsyncGenerator<Uint8Array> {
    return decoded(body, this.#codings(), truncated === false, this.#maxBytes)
  }
}

const HTML = /^[ \t]*(text\/html|application\/xhtml\+xml)[ \t]*(;|$)/i

function headersOf(fields: ContentHead['headers']): Headers {
  const headers = new Headers()
  for (const [name, value] of fields) {
    try {
      headers.append(name, value)
    } catch {
      // not a field by the standard (a blank in its name, a NUL in its value)
    }
  }
  return headers
}
