/** The index of a WARC file, CDXJ: one line for each page, from what is known while it is written, or from the record itself. */

import type { ArchiveRef } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import type { Headers } from '@decorum/sending/bodies'
import { getSurt } from 'warcio/utils' // its index loads pako and hash-wasm, too
import type { Member } from './members.ts'

/** One line without its place in the file. */
export type IndexEntry = {
  url: string
  /** as WARC-Date has it */
  date: string
  mime: string
  status: number
  /** of the payload; undefined: a 304 for a copy whose digest the frontier did not give */
  digest: string | undefined
}

/** What replay tools call a record that stands for an earlier one. */
export const REVISIT_MIME = 'warc/revisit'

export function mimeOf(headers: Headers): string {
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1]
  return /^[ \t]*([\w.+-]{1,64}\/[\w.+-]{1,64})/.exec(type ?? '')?.[1]?.toLowerCase() ?? 'unk'
}

/** The key by which pywb and similar tools look up a URL, 14-digit time, JSON. To be sorted as bytes when the file is complete. */
export function indexLine({ url, date, mime, status, digest }: IndexEntry, at: ArchiveRef): string {
  const fields = {
    url,
    mime,
    status: String(status),
    ...defined({ digest }),
    length: String(at.length),
    offset: String(at.offset),
    filename: at.file,
  }
  return `${getSurt(url)} ${date.replace(/\D/g, '').slice(0, 14)} ${JSON.stringify(fields)}\n`
}

const HEAD_END = Buffer.from('\r\n\r\n')
/** Of the record and of the answer together: more than any fetcher writes. */
const HEADS_MAX_BYTES = 256 * 1024

/** undefined: a record without a line of its own (warcinfo, request, metadata), or none of ours. */
export function entryOf({ content }: Pick<Member, 'content'>): IndexEntry | undefined {
  const start = content.subarray(0, HEADS_MAX_BYTES)
  const recordEnd = start.indexOf(HEAD_END)
  const answerEnd = start.indexOf(HEAD_END, recordEnd + HEAD_END.length)
  if (recordEnd < 0 || answerEnd < 0) return undefined
  const record = fieldsOf(start.toString('utf8', 0, recordEnd))
  const field = (name: string): string | undefined => record.find(([given]) => given.toLowerCase() === name)?.[1]
  const [kind, url, date] = [field('warc-type'), field('warc-target-uri'), field('warc-date')]
  if ((kind !== 'response' && kind !== 'revisit') || url === undefined || date === undefined) return undefined
  const answer = start.toString('latin1', recordEnd + HEAD_END.length, answerEnd)
  const status = /^HTTP\/\S+ (\d{3})/.exec(answer)?.[1]
  if (status === undefined) return undefined
  const mime = kind === 'revisit' ? REVISIT_MIME : mimeOf(fieldsOf(answer))
  return { url, date, mime, status: Number(status), digest: field('warc-payload-digest') }
}

const fieldsOf = (head: string): Headers =>
  head
    .split('\r\n')
    .slice(1)
    .flatMap((line): Headers => {
      const colon = line.indexOf(':')
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()]]
    })
