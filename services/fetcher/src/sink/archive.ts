/**
 * Pages as WARC 1.1 (ISO 28500): response and request of each exchange, one gzip member per record, one writer per process. A file has
 * the suffix `.open` while it is written; all complete records of a killed writer can be read. Bodies are stored as received, with
 * their content coding and without the transfer coding.
 */

import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Agents } from '@decorum/config'
import { type ArchiveRef, base32, codingsOf, systemClock } from '@decorum/protocol'
import { http } from '@decorum/runtime/node-http'
import { ACCEPTED_CODINGS, type Answer, isCoded, openTurns } from '@decorum/sending/bodies'
import { type IndexEntry, mimeOf, REVISIT_MIME } from './index-lines.ts'
import type { Page, Sink } from './sink.ts'
import { uriOf } from './target-uri.ts'
import { openWarcFiles, type WarcFilesOptions } from './warc-files.ts'
import { newRecordId, type Packing, packRecord, type WarcFields } from './warc-record.ts'

const LARGE_AT_ONCE = 2
/** The profiles of revisit records. */
const PROFILES = 'http://netpreserve.org/warc/1.1/revisit/'

/**
 * @param folder  is created if it does not exist
 */
export async function openArchive(folder: string, agents: Agents, options?: WarcFilesOptions): Promise<Sink> {
  const files = await openWarcFiles(folder, (file) => warcinfo(file, agents), options)
  // A large page is in memory as a whole while it is packed and written, at most about four times: the block, the record, and
  // gzip's output. So at most two of them are packed at a time.
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

/** The body from its temporary file. @throws Error when the file no longer contains the bytes that were digested */
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

/** @throws Error when the memory of a chunk has already been freed, which would be a bug */
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
  const responseId = newRecordId()
  const making = answer.body.digest()
  const sum = making instanceof Promise ? await making : making
  const digest = revisit === undefined ? `sha1:${base32(sum)}` : revisit.digest
  const uri = uriOf(url)
  const about: WarcFields =
    answer.address === ''
      ? [['WARC-Target-URI', uri]]
      : [
          ['WARC-Target-URI', uri],
          ['WARC-IP-Address', answer.address],
        ]
  const recordFields: [string, string][] = [['WARC-Protocol', answer.protocol]]
  if (answer.tls !== undefined) recordFields.push(['WARC-Protocol', answer.tls.toLowerCase().replace('v', '/')])
  if (digest !== undefined) recordFields.push(['WARC-Payload-Digest', digest])
  if (revisit !== undefined)
    recordFields.push(['WARC-Profile', PROFILES + revisit.kind], ['WARC-Refers-To-Target-URI', uri])
  if (answer.truncated)
    recordFields.push(['WARC-Truncated', answer.truncated === 'type' ? 'unspecified' : answer.truncated])
  // The head of a 304 is not stored: pywb shows the head of a revisit with the earlier body, and a browser that reads 304 shows no body
  const isHeadless = revisit?.kind === 'server-not-modified'
  const block: Uint8Array[] = isHeadless ? [] : [responseHead(answer)]
  if (revisit === undefined) {
    const kept = answer.body.inMemory()
    block.push(...(kept === undefined ? await readWhole(answer, sum) : assertWhole(answer, kept)))
  }
  const type = revisit === undefined ? 'response' : 'revisit'
  const response = packRecord(type, responseId, date, [...about, ...recordFields], block, packingOf(answer))
  const requestFields: [string, string][] = [
    ['WARC-Concurrent-To', responseId],
    ['WARC-Crawler-Agent', agent],
  ]
  if (id !== undefined) requestFields.push(['WARC-Candidate-ID', encodeURIComponent(id)])
  const head = Buffer.from(requestHead, 'latin1')
  const request = packRecord('request', newRecordId(), date, [...about, ...requestFields], [head], 'store')
  const records = [response instanceof Promise ? await response : response, await request]
  if (note !== undefined) {
    const fields: WarcFields = [
      ['WARC-Target-URI', uri],
      ['WARC-Concurrent-To', responseId],
      ['WARC-Refers-To', responseId],
    ]
    records.push(await packRecord('metadata', newRecordId(), date, fields, [warcFields(note)], 'pack'))
  }
  return {
    records,
    index: {
      uri,
      date,
      mime: revisit === undefined ? mimeOf(answer.headers) : REVISIT_MIME,
      status: isHeadless ? undefined : answer.status,
      digest,
    },
  }
}

/** Whether to gzip: bodies with a known content coding are not, text is; for other types and unknown codings a sample decides. */
function packingOf({ headers }: Answer): Packing {
  if (isCoded(headers))
    return codingsOf(headers).every((coding) => ACCEPTED_CODINGS.includes(coding)) ? 'store' : 'look'
  const type = mimeOf(headers)
  const isText = type.startsWith('text/') || /[/+](xml|json|javascript)$/.test(type)
  return isText ? 'pack' : 'look'
}

/**
 * The head as received, byte by byte, except that the stored body is no longer chunked: Transfer-Encoding, and a length beside it,
 * which does not count (RFC 9112 §6.3), get other names. HTTP/2 is written as HTTP/1.1, as archives expect, with a reason phrase because
 * their readers require one.
 */
function responseHead({ status, statusText, headers, protocol }: Answer): Buffer {
  const phrase = protocol === 'h2' ? (http.STATUS_CODES[status] ?? '') : statusText
  const isTransferred = headers.some(([name]) => isTransfer(name))
  let head = `HTTP/${protocol === 'http/1.0' ? '1.0' : '1.1'} ${status} ${oneLine(phrase)}\r\n`
  for (const [name, value] of headers) {
    const isOther = isTransferred && (isTransfer(name) || name.toLowerCase() === 'content-length')
    head += `${isOther ? 'X-Archive-Orig-' : ''}${oneLine(`${name}: ${value}`)}\r\n`
  }
  return Buffer.from(`${head}\r\n`, 'latin1')
}

const isTransfer = (name: string): boolean => name.length === 17 && name.toLowerCase() === 'transfer-encoding'
/** A lone CR or LF becomes a blank (RFC 9112 §2.2), so that every reader sees one line; other control bytes are kept unchanged. */
const oneLine = (text: string): string => (LINE_END.test(text) ? text.replace(LINE_ENDS, ' ') : text)
const LINE_END = /[\r\n]/
const LINE_ENDS = /\r\n|\r|\n/g

function warcinfo(file: string, { list }: Agents): Uint8Array | Promise<Uint8Array> {
  const fields: Record<string, string> = {
    software: 'Decorum/0.1',
    format: 'WARC File Format 1.1',
    conformsTo: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
    hostname: hostname(),
    robots: 'obey',
    'http-header-user-agent': list.map(({ userAgent }) => userAgent).join(' | '),
  }
  const date = new Date(systemClock.machine()).toISOString()
  return packRecord('warcinfo', newRecordId(), date, [['WARC-Filename', file]], [warcFields(fields)], 'pack')
}

const warcFields = (fields: Record<string, string>): Uint8Array =>
  Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`)
      .join(''),
  )
