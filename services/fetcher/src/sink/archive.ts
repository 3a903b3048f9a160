/**
 * Pages as WARC 1.1 (ISO 28500), by warcio: response and request of each exchange, gzip per record, one writer per
 * process. A file is called `….open` while it is written; a killed writer leaves one whose complete records all read.
 * Bodies are stored as they came over the wire, content coding included; only the transfer coding is gone.
 */
import { createHash, hash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { constants, gzip as gzipCallback, gzipSync } from 'node:zlib'
import type { Agents } from '@decorum/config'
import type { ArchiveRef } from '@decorum/protocol'
import { WARCRecord } from 'warcio'
import type { Answer } from '../http/answer.ts'
import { base32, sha1 } from '../http/digest.ts'
import { openTurns } from '../http/turns.ts'
import type { Page, Sink } from './sink.ts'
import { type IndexEntry, openWarcFiles } from './warc-files.ts'

const gzip = promisify(gzipCallback)
const VERSION = 'WARC/1.1' as const
const LARGE_AT_ONCE = 2
/** A GET has no payload. */
const EMPTY_DIGEST = `sha1:${base32(hash('sha1', '', 'buffer'))}`

/**
 * @param folder  exists or is made
 * @param limits  when a file is closed and the next begun
 */
export async function openArchive(
  folder: string,
  agents: Agents,
  limits?: { maxBytes?: number; maxAgeMs?: number },
): Promise<Sink> {
  const files = await openWarcFiles(folder, (file) => warcinfo(file, agents), limits)
  // Large pages are in memory as a whole while they are packed and written, two at a time: at most about four times
  // PAGE_MAX_BYTES each, for the block, the record and what gzip makes of it.
  const inTurn = openTurns(LARGE_AT_ONCE)
  return {
    keepsBodies: true,
    async store(page, signal) {
      const keep = async (): Promise<ArchiveRef> => {
        const { records, index } = await pack(page)
        return files.append(records, index, signal)
      }
      return page.answer.body.inMemory() === undefined ? inTurn(keep, signal) : keep()
    },
    close: () => files.close(),
  }
}

type WarcFields = [string, string][]

/** @throws Error when what a temporary file holds is not what came over the wire: it is not kept under its digest */
async function readWhole({ body }: Answer, digest: Uint8Array): Promise<Uint8Array[]> {
  const read = createHash('sha1')
  const chunks: Uint8Array[] = []
  for await (const chunk of body.read()) {
    read.update(chunk)
    chunks.push(chunk)
  }
  if (!read.digest().equals(digest)) throw new Error('the octets of a body are not those that were digested')
  return chunks
}

/** The chunks that were digested, whose memory nobody has taken meanwhile. */
function assertWhole({ body }: Answer, kept: Uint8Array[]): Uint8Array[] {
  const bytes = kept.reduce((total, chunk) => total + chunk.length, 0)
  if (bytes !== body.bytes) throw new Error(`${bytes} of ${body.bytes} octets of a body were at hand`)
  return kept
}

async function pack({
  kind,
  url,
  agent,
  requestHead,
  answer,
  id,
  note,
}: Page): Promise<{ records: Uint8Array[]; index: IndexEntry }> {
  const date = new Date(answer.startedAt).toISOString()
  const responseId = `<urn:uuid:${randomUUID()}>`
  const sum = await answer.body.digest()
  const digest = `sha1:${base32(sum)}`
  const peer: WarcFields = answer.address === '' ? [] : [['WARC-IP-Address', answer.address]]
  const spoken: WarcFields = [['WARC-Protocol', 'http/1.1']]
  if (answer.tls !== undefined) spoken.push(['WARC-Protocol', answer.tls.toLowerCase().replace('v', '/')])
  const responseFields: WarcFields = [
    ['WARC-Record-ID', responseId],
    ...peer,
    ...spoken,
    ['WARC-Payload-Digest', digest],
  ]
  if (answer.truncated !== false) responseFields.push(['WARC-Truncated', answer.truncated])
  const block: Uint8Array[] = [responseHead(answer)]
  const kept = answer.body.inMemory()
  block.push(...(kept === undefined ? await readWhole(answer, sum) : assertWhole(answer, kept)))
  const response = await record('response', url, date, responseFields, block)
  const fields: WarcFields = [...peer, ['WARC-Concurrent-To', responseId], ['WARC-Crawler-Agent', agent]]
  if (id !== undefined) fields.push(['WARC-Candidate-ID', encodeURIComponent(id)])
  const request = await record('request', url, date, fields, [Buffer.from(requestHead, 'latin1')])
  const records = [response, request]
  if (note !== undefined) {
    const about: WarcFields = [
      ['WARC-Concurrent-To', responseId],
      ['WARC-Refers-To', responseId],
    ]
    records.push(await record('metadata', url, date, about, [warcFields(note)]))
  }
  return { records, index: { url, date, mime: mimeOf(answer, kind), status: answer.status, digest } }
}

/** Records up to this size are packed on the spot: handing them to another thread costs more (measured). */
const PACK_HERE_BYTES = 4_096
/**
 * They need no longer window than that, smaller tables are set up in two thirds of the time, and what comes out is
 * hardly longer than what goes in: zlib would take 16 KB for it, outside the heap.
 */
const SMALL_TABLES = { windowBits: 13, memLevel: 6, chunkSize: PACK_HERE_BYTES }

async function record(
  type: 'response' | 'request' | 'metadata' | 'warcinfo',
  url: string,
  date: string,
  fields: WarcFields,
  block: Uint8Array[],
): Promise<Uint8Array> {
  const sum = sha1(block)
  const digest = `sha1:${base32(sum instanceof Promise ? await sum : sum)}`
  const warcHeaders: WarcFields = [...fields, ['WARC-Block-Digest', digest]]
  if (type === 'request') warcHeaders.push(['WARC-Payload-Digest', EMPTY_DIGEST])
  if (type === 'metadata') warcHeaders.push(['WARC-Payload-Digest', digest])
  const made = WARCRecord.create({ type, url, date, warcVersion: VERSION, warcHeaders }, [])
  made.warcHeaders.headers.set('Content-Length', String(block.reduce((bytes, chunk) => bytes + chunk.length, 0)))
  // Put together here: warcio's serializer reads a block as a stream, which costs three times as much.
  const octets = Buffer.concat([Buffer.from(`${made.warcHeaders.toString()}\r\n`), ...block, RECORD_END])
  return octets.length <= PACK_HERE_BYTES ? gzipSync(octets, SMALL_TABLES) : gzip(octets, { level: levelFor(octets) })
}

/** A page that waits too long for its turn is not kept, so large ones are not packed for longer than it is worth. */
const LARGE_BYTES = 128 * 1024
const SAMPLE_BYTES = 16 * 1024

/**
 * zlib's usual level for what is small. 10 MiB of text cost 295 ms at that level, 117 ms at level 3, and grow by 1.5 %;
 * 10 MiB of noise (images, what is packed already) cost 272 ms at any level and shrink by nothing: 12 ms when stored.
 */
function levelFor(octets: Uint8Array): number {
  if (octets.length < LARGE_BYTES) return constants.Z_DEFAULT_COMPRESSION
  const middle = octets.length >> 1
  const sample = gzipSync(octets.subarray(middle, middle + SAMPLE_BYTES), { level: 1 })
  return sample.length > SAMPLE_BYTES * 0.95 ? 0 : 3
}
const RECORD_END = Buffer.from('\r\n\r\n')

/**
 * The head as received, octet by octet, except that the body behind it is no longer chunked. (undici gives the reason
 * phrase decoded as UTF-8 and the header fields as octets.)
 */
function responseHead({ status, statusText, headers }: Answer): Buffer {
  let fields = ''
  for (const [name, value] of headers) {
    const isTransfer = name.length === 17 && name.toLowerCase() === 'transfer-encoding'
    fields += `${isTransfer ? `X-Archive-Orig-${name}` : name}: ${value}\r\n`
  }
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${statusText}\r\n`), Buffer.from(`${fields}\r\n`, 'latin1')])
}

function mimeOf({ headers }: Answer, kind: Page['kind']): string {
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  const mime = /^[ \t]*([\w.+-]{1,64}\/[\w.+-]{1,64})/.exec(type ?? '')?.[1]?.toLowerCase()
  return mime ?? (kind === 'robots' ? 'text/plain' : 'unk')
}

function warcinfo(file: string, { list }: Agents): Promise<Uint8Array> {
  const fields: Record<string, string> = {
    software: 'Decorum/0.1 (warcio)',
    format: 'WARC File Format 1.1',
    conformsTo: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
    hostname: hostname(),
    robots: 'obey',
    'http-header-user-agent': list.map(({ userAgent }) => userAgent).join(' | '),
  }
  return record('warcinfo', '', new Date().toISOString(), [['WARC-Filename', file]], [warcFields(fields)])
}

const warcFields = (fields: Record<string, string>): Uint8Array =>
  Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`)
      .join(''),
  )
