/** Determines where the body of an answer ends (RFC 9112 §6.3). An answer for which that is ambiguous is refused. Pure. */
import { trimBlanks } from '@decorum/protocol/headers'
import type { Headers, Protocol } from '../answer.ts'
import { type Mark, RefusedAnswerError } from './fields.ts'

export type Framing =
  | { kind: 'none' }
  | { kind: 'chunks' }
  | { kind: 'length'; bytes: number }
  | { kind: 'until-close' }

export type FramedHead = { status: number; protocol: Protocol; headers: Headers }

/** @throws RefusedAnswerError when readers would disagree about the end of the body */
export function framingOf({ status, protocol, headers }: FramedHead, isHead: boolean, mark: Mark): Framing {
  if (isHead || status < 200 || status === 204 || status === 304) return { kind: 'none' }
  const named = elementsOf(headers, 'transfer-encoding').filter((coding) => coding !== '')
  const codings = named.map((coding) => coding.toLowerCase())
  const lengths = elementsOf(headers, 'content-length')
  const isChunked = codings.at(-1) === 'chunked'
  if (codings.some((coding) => coding.includes('chunked') && !(isChunked && coding === 'chunked')))
    throw new RefusedAnswerError(`Transfer-Encoding: ${named.join(', ').slice(0, 100)}`)
  const isCoded = codings.some((coding) => coding !== 'identity')
  if (isCoded && lengths.length > 0 && (!isChunked || protocol === 'http/1.0'))
    throw new RefusedAnswerError('Transfer-Encoding and Content-Length')
  if (codings.some((coding) => coding !== 'chunked')) mark('transfer-coding')
  if (isChunked) {
    if (codings.indexOf('chunked') < codings.length - 1) mark('chunked-repeated')
    if (lengths.length > 0) mark('length-beside-chunked')
    return { kind: 'chunks' }
  }
  const [length] = lengths
  if (length === undefined) return { kind: 'until-close' }
  if (lengths.some((other) => other !== length)) throw new RefusedAnswerError('two lengths')
  if (!/^\d{1,15}$/.test(length)) throw new RefusedAnswerError(`Content-Length: ${length.slice(0, 100)}`)
  if (lengths.length > 1) mark('length-repeated')
  return { kind: 'length', bytes: Number(length) }
}

/** Whether only the end of the connection shows the end of the body. */
export function endsWithConnection(head: FramedHead, isHead: boolean): boolean {
  try {
    return framingOf(head, isHead, () => {}).kind === 'until-close'
  } catch {
    return true // ambiguous
  }
}

/** Whether Transfer-Encoding is present and differs from a plain `chunked`. Called for each answer. */
export function hasUnusualCodings(headers: Headers): boolean {
  let chunked = 0
  for (const [name, value] of headers) {
    if (name.length !== 17 || !isNamed(name, 'transfer-encoding')) continue
    if (++chunked > 1 || (value !== 'chunked' && value.toLowerCase() !== 'chunked')) return true
  }
  return false
}

const isNamed = (name: string, wanted: string): boolean =>
  name.length === wanted.length && name.toLowerCase() === wanted

/** The elements of a list header, over all its lines. */
const elementsOf = (headers: Headers, wanted: string): string[] =>
  headers.filter(([name]) => isNamed(name, wanted)).flatMap(([, value]) => value.split(',').map(trimBlanks))
