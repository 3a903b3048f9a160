/**
 * Pages as WARC 1.1 (ISO 28500), by warcio: response and request of each exchange, one gzip member per record, one writer per
 * process. A file is called `….open` while it is written; all complete records of a killed writer can be read. Bodies are
 * stored as they came over the wire, with their content coding and without the transfer coding.
 */
import { createHash, hash, randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { constants, gzip as gzipCallback, gzipSync } from 'node:zlib'
import type { Agents } from '@decorum/config'
import { type ArchiveRef, base32 } from '@decorum/protocol'
import { WARCRecord } from 'warcio'
import type { Answer } from '../http/answer.ts'
import { sha1 } from '../http/digest.ts'
import { openTurns } from '../http/turns.ts'
import { type IndexEntry, mimeOf, REVISIT_MIME } from './index-lines.ts'
import type { Page, Sink } from './sink.ts'
import { openWarcFiles, type WarcFilesOptions } from './warc-files.ts'

const gzip = promisify(gzipCallback)
const VERSION = 'WARC/1.1' as const
const LARGE_AT_ONCE = 2
/** Of revisit records. */
const PROFILE = 'WARC-Profile'
const PROFILES = 'http://netpreserve.org/warc/1.1/revisit/'
/** Of a request, which has no payload. */
const EMPTY_DIGEST = `sha1:${base32(hash('sha1', '', 'buffer'))}`

/**
 * @param folder  is made when it does not exist
 */
export async function openArchive(folder: string, agents: Agents, options?: WarcFilesOptions): Promise<Sink> {
  const files = await openWarcFiles(folder, (file) => warcinfo(file, agents), options)
  // A large page is in memory as a whole while it is packed and written, at most about four times: the block, the record, and
  // what gzip makes of it. So only two of them are packed at a time.
  const inTurn = openTurns(LARGE_AT_ONCE)
  return {
    keepsBodies: true,
    keepsRevisits: true,
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

/** The body from its temporary file. @throws Error when the file no longer has the bytes that were digested */
async function readWhole({ body }: Answer, digest: Uint8Array): Promise<Uint8Array[]> {
  const read = createHash('sha1')
  const chunks: Uint8Array[] = []
  for await (const chunk of body.read()) {
    read.update(chunk)
    chunks.push(chunk)
  }
  if (!read.digest().equals(digest)) throw new Error('the bytes of a body are not those that were digested')
  return chunks
}

/** @throws Error when the memory of a chunk was freed meanwhile, which would be a fault of this program */
function assertWhole({ body }: Answer, kept: Uint8Array[]): Uint8Array[] {
  const bytes = kept.reduce((total, chunk) => total + chunk.length, 0)
  if (bytes !== body.bytes) throw new Error(`${bytes} of ${body.bytes} bytes of a body are in memory`)
  return kept
}

async function pack({
  url,
  agent,
  requestHead,
  answer,
  id,
  note,
  revisit,
}: Page): Promise<{ records: Uint8Array[]; index: IndexEntry }> {
  const date = new Date(answer.startedAt).toISOString()
  const responseId = `<urn:uuid:${randomUUID()}>`
  const sum = await answer.body.digest()
  const digest = revisit === undefined ? `sha1:${base32(sum)}` : revisit.digest
  const peer: WarcFields = answer.address === '' ? [] : [['WARC-IP-Address', answer.address]]
  const spoken: WarcFields = [['WARC-Protocol', answer.protocol]]
  if (answer.tls !== undefined) spoken.push(['WARC-Protocol', answer.tls.toLowerCase().replace('v', '/')])
  const responseFields: WarcFields = [['WARC-Record-ID', responseId], ...peer, ...spoken]
  if (digest !== undefined) responseFields.push(['WARC-Payload-Digest', digest])
  if (revisit !== undefined) responseFields.push([PROFILE, PROFILES + revisit.kind], ['WARC-Refers-To-Target-URI', url])
  if (answer.truncated !== false)
    responseFields.push(['WARC-Truncated', answer.truncated === 'type' ? 'unspecified' : answer.truncated])
  const block: Uint8Array[] = [responseHead(answer)]
  if (revisit === undefined) {
    const kept = answer.body.inMemory()
    block.push(...(kept === undefined ? await readWhole(answer, sum) : assertWhole(answer, kept)))
  }
  const response = await record(revisit === undefined ? 'response' : 'revisit', url, date, responseFields, block)
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
  return {
    records,
    index: {
      url,
      date,
      mime: revisit === undefined ? mimeOf(answer.headers) : REVISIT_MIME,
      status: answer.status,
      digest,
    },
  }
}

/** Smaller records are packed on the spot, because handing them to another thread costs more (bench `fetch`, archive on). */
const PACK_HERE_BYTES = 4_096
/**
 * zlib settings for small records. A longer window would be of no use, smaller tables are set up in two thirds of the time, and
 * the output needs no buffer of 16 KB outside the heap.
 */
const SMALL_TABLES = { windowBits: 13, memLevel: 6, chunkSize: PACK_HERE_BYTES }

async function record(
  type: 'response' | 'revisit' | 'request' | 'metadata' | 'warcinfo',
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
  // warcio knows one profile of revisit records and overwrites what it was given
  const profile = fields.find(([name]) => name === PROFILE)?.[1]
  if (profile !== undefined) made.warcHeaders.headers.set(PROFILE, profile)
  made.warcHeaders.headers.set('Content-Length', String(block.reduce((bytes, chunk) => bytes + chunk.length, 0)))
  // Not by warcio's serializer: it reads a block as a stream, which costs three times as much (bench `fetch`, archive on).
  const whole = Buffer.concat([Buffer.from(`${made.warcHeaders.toString()}\r\n`), ...block, RECORD_END])
  return whole.length <= PACK_HERE_BYTES ? gzipSync(whole, SMALL_TABLES) : gzip(whole, { level: levelFor(whole) })
}

/** Larger records are packed quickly rather than well, because a page that waits too long is not kept. */
const LARGE_BYTES = 128 * 1024
const SAMPLE_BYTES = 16 * 1024

/**
 * zlib's default level for small records. 10 MiB of text take 295 ms at that level; at level 3 they take 117 ms and 1.5 % more
 * space. 10 MiB of images take 272 ms at any level and do not shrink; stored without packing they take 12 ms.
 */
function levelFor(whole: Uint8Array): number {
  if (whole.length < LARGE_BYTES) return constants.Z_DEFAULT_COMPRESSION
  const middle = whole.length >> 1
  const sample = gzipSync(whole.subarray(middle, middle + SAMPLE_BYTES), { level: 1 })
  return sample.length > SAMPLE_BYTES * 0.95 ? 0 : 3
}
const RECORD_END = Buffer.from('\r\n\r\n')

/**
 * The head as received, byte by byte, except that the stored body is no longer chunked. undici decodes the reason phrase as UTF-8
 * and gives the header fields as bytes. HTTP/2 has no reason phrase; readers of archives expect one.
 */
function responseHead({ status, statusText, headers, protocol }: Answer): Buffer {
  const phrase = protocol === 'h2' ? (STATUS_CODES[status] ?? '') : statusText
  let fields = ''
  for (const [name, value] of headers) {
    const isTransfer = name.length === 17 && name.toLowerCase() === 'transfer-encoding'
    fields += `${isTransfer ? `X-Archive-Orig-${name}` : name}: ${value}\r\n`
  }
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${phrase}\r\n`), Buffer.from(`${fields}\r\n`, 'latin1')])
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
