/** The index of a WARC file, CDXJ: one line for each page, from the facts at writing time, or from the record itself. */

import { type ArchiveRef, contentTypeOf, mediaTypeOf } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import type { Headers } from '@decorum/sending/bodies'
import type { Member } from './members.ts'
import { surtOf } from './surt.ts'
import { uriOf } from './target-uri.ts'

/** One line without its place in the file. */
export type IndexEntry = {
  /** in the form of WARC-Target-URI */
  uri: string
  /** in the form of WARC-Date */
  date: string
  mime: string
  /** undefined: the record contains no head of an answer */
  status: number | undefined
  /** digest of the payload; undefined: a 304 for a copy whose digest the frontier did not give */
  digest: string | undefined
}

/** The term of replay tools for a record that stands for an earlier one. */
export const REVISIT_MIME = 'warc/revisit'

export function mimeOf(headers: Headers): string {
  return mediaTypeOf(contentTypeOf(headers)).essence?.slice(0, 128) ?? 'unk'
}

/**
 * One line: the key by which pywb and similar tools look up a URL, a 14-digit time, and JSON with the fields of cdxj-indexer. Lines are
 * sorted as bytes when the file is complete.
 * @returns '' for an unrequested 304: a tool would show it, without a page, in place of an earlier capture
 */
export function indexLine({ uri, date, mime, status, digest }: IndexEntry, at: ArchiveRef): string {
  if (status === 304) return ''
  const fields = {
    url: uri,
    mime,
    ...defined({ status: status === undefined ? undefined : String(status), digest }),
    length: String(at.length),
    offset: String(at.offset),
    filename: at.file,
  }
  return `${surtOf(uri)} ${date.replace(/\D/g, '').slice(0, 14)} ${JSON.stringify(fields)}\n`
}

const HEAD_END = Buffer.from('\r\n\r\n')
/** Limit for the heads of record and answer together: more than a fetcher writes, which reads answer heads of at most 256 KiB. */
const HEADS_MAX_BYTES = 1024 * 1024

/** @returns undefined for a record without an index line (warcinfo, request, metadata), or from another program */
export function entryOf({ content }: Pick<Member, 'content'>): IndexEntry | undefined {
  const start = content.subarray(0, HEADS_MAX_BYTES)
  const recordEnd = start.indexOf(HEAD_END)
  const answerEnd = start.indexOf(HEAD_END, recordEnd + HEAD_END.length)
  if (recordEnd < 0 || answerEnd < 0) return undefined
  const record = fieldsOf(start.toString('utf8', 0, recordEnd))
  const field = (name: string): string | undefined => record.find(([given]) => given.toLowerCase() === name)?.[1]
  const [kind, uri, date] = [field('warc-type'), field('warc-target-uri'), field('warc-date')]
  const isRevisit = kind === 'revisit'
  if ((kind !== 'response' && !isRevisit) || uri === undefined || date === undefined) return undefined
  const answer = start.toString('latin1', recordEnd + HEAD_END.length, answerEnd)
  const given = /^HTTP\/\S+ (\d{3})/.exec(answer)?.[1]
  if (given === undefined && !isRevisit) return undefined
  const status = given === undefined || (isRevisit && given === '304') ? undefined : Number(given)
  const mime = isRevisit ? REVISIT_MIME : mimeOf(fieldsOf(answer))
  return { uri: uriOf(uri), date, mime, status, digest: field('warc-payload-digest') }
}

const fieldsOf = (head: string): Headers =>
  head
    .split('\r\n')
    .slice(1)
    .flatMap((line): Headers => {
      const colon = line.indexOf(':')
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()]]
    })
