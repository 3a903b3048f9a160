/**
 * Pages as WARC 1.1 (ISO 28500): response and request of each exchange, one gzip member per record, one writer per
 * process. A file is called `….open` while it is written; all complete records of a killed writer can be read. Bodies are
 * stored as they came over the wire, with their content coding and without the transfer coding.
 */

import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import type { Agents } from '@decorum/config'
import { type ArchiveRef, base32 } from '@decorum/protocol'
import { http } from '@decorum/runtime/node-http'
import { type Answer, isCoded, isPlain, openTurns } from '@decorum/sending/bodies'
import { type IndexEntry, mimeOf, REVISIT_MIME } from './index-lines.ts'
import type { Page, Sink } from './sink.ts'
import { openWarcFiles, type WarcFilesOptions } from './warc-files.ts'
import { newRecordId, type Packing, packRecord, type WarcFields } from './warc-record.ts'

const LARGE_AT_ONCE = 2
/** Of revisit records. */
const PROFILES = 'http://netpreserve.org/warc/1.1/revisit/'

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
  const responseId = newRecordId()
  const making = answer.body.digest()
  const sum = making instanceof Promise ? await making : making
  const digest = revisit === undefined ? `sha1:${base32(sum)}` : revisit.digest
  const about: WarcFields =
    answer.address === ''
      ? [['WARC-Target-URI', url]]
      : [
          ['WARC-Target-URI', url],
          ['WARC-IP-Address', answer.address],
        ]
  const said: [string, string][] = [['WARC-Protocol', answer.protocol]]
  if (answer.tls !== undefined) said.push(['WARC-Protocol', answer.tls.toLowerCase().replace('v', '/')])
  if (digest !== undefined) said.push(['WARC-Payload-Digest', digest])
  if (revisit !== undefined) said.push(['WARC-Profile', PROFILES + revisit.kind], ['WARC-Refers-To-Target-URI', url])
  if (answer.truncated !== false)
    said.push(['WARC-Truncated', answer.truncated === 'type' ? 'unspecified' : answer.truncated])
  const block: Uint8Array[] = [responseHead(answer)]
  if (revisit === undefined) {
    const kept = answer.body.inMemory()
    block.push(...(kept === undefined ? await readWhole(answer, sum) : assertWhole(answer, kept)))
  }
  const type = revisit === undefined ? 'response' : 'revisit'
  const response = packRecord(type, responseId, date, [...about, ...said], block, packingOf(answer))
  const asked: [string, string][] = [
    ['WARC-Concurrent-To', responseId],
    ['WARC-Crawler-Agent', agent],
  ]
  if (id !== undefined) asked.push(['WARC-Candidate-ID', encodeURIComponent(id)])
  const head = Buffer.from(requestHead, 'latin1')
  const request = packRecord('request', newRecordId(), date, [...about, ...asked], [head], 'store')
  const records = [response instanceof Promise ? await response : response, await request]
  if (note !== undefined) {
    const fields: WarcFields = [
      ['WARC-Target-URI', url],
      ['WARC-Concurrent-To', responseId],
      ['WARC-Refers-To', responseId],
    ]
    records.push(await packRecord('metadata', newRecordId(), date, fields, [warcFields(note)], 'pack'))
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

/** A body with a content coding is packed already. Of other types than text a sample is looked at. */
function packingOf({ headers }: Answer): Packing {
  if (isCoded(headers)) return 'store'
  const type = mimeOf(headers)
  const isText = type.startsWith('text/') || /[/+](xml|json|javascript)$/.test(type)
  return isText && isPlain(headers) ? 'pack' : 'look'
}

/**
 * The head as received, byte by byte, except that the stored body is no longer chunked. undici decodes the reason phrase as UTF-8
 * and gives the header fields as bytes. HTTP/2 has no reason phrase; readers of archives expect one.
 */
function responseHead({ status, statusText, headers, protocol }: Answer): Buffer {
  const phrase = protocol === 'h2' ? (http.STATUS_CODES[status] ?? '') : statusText
  let fields = ''
  for (const [name, value] of headers) {
    const isTransfer = name.length === 17 && name.toLowerCase() === 'transfer-encoding'
    fields += `${isTransfer ? `X-Archive-Orig-${name}` : name}: ${value}\r\n`
  }
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${phrase}\r\n`), Buffer.from(`${fields}\r\n`, 'latin1')])
}

function warcinfo(file: string, { list }: Agents): Uint8Array | Promise<Uint8Array> {
  const fields: Record<string, string> = {
    software: 'Decorum/0.1',
    format: 'WARC File Format 1.1',
    conformsTo: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/',
    hostname: hostname(),
    robots: 'obey',
    'http-header-user-agent': list.map(({ userAgent }) => userAgent).join(' | '),
  }
  const date = new Date().toISOString()
  return packRecord('warcinfo', newRecordId(), date, [['WARC-Filename', file]], [warcFields(fields)], 'pack')
}

const warcFields = (fields: Record<string, string>): Uint8Array =>
  Buffer.from(
    Object.entries(fields)
      .map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`)
      .join(''),
  )
