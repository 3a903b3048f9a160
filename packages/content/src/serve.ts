/**
 * `GET /v1/content?ref=`: the bytes of one record, for a fetcher's health server and the console. A written record never changes,
 * so answers may be cached for ever and requested in ranges.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { PROBLEM_TYPE, problemBody } from '@decorum/protocol'
import { ByteInput } from './coding/byte-input.ts'
import { Content } from './content.ts'
import { ContentError, STATUS } from './errors.ts'
import { readFileMember } from './member-file.ts'
import type { ReadMember } from './places.ts'
import { readRecord } from './record.ts'
import { CONTENT_PATH, MAX_REFERENCE_CHARS, type Reference, readReference } from './reference.ts'

export { ContentError } from './errors.ts'
export { archiveFolders } from './folders.ts'
export { fetchMember } from './member-http.ts'
export { type ObjectStore, type StoreAccess, StoreError, storeAt } from './object-store.ts'
export { atFirstPlace, type ReadMember } from './places.ts'
export { type Bucket, CONTENT_PATH, type Reference, readReference, writeReference, wrongBucket } from './reference.ts'

export type ContentServerOptions = {
  /** folders whose archives may be read, absolute; evaluated for each request */
  folders: () => Promise<readonly string[]>
  /** CONTENT_TOKEN; undefined: only this machine may read, at its loopback address */
  token: string | undefined
}

/** A request handler for `node:http`. It answers every request, and never throws. */
export function contentServer({ folders, token }: ContentServerOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const refusal = refusalOf(request, token)
      if (refusal !== undefined) return problem(response, ...refusal)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return problem(response, 405, 'method', 'only GET and HEAD are answered')
      const reference = referenceIn(request.url ?? '')
      await sendMember(inFolders(reference, folders), reference.length, request, response)
    } catch (error) {
      answerError(response, error)
    }
  }
}

/** @throws ContentError `bad-reference` */
function referenceIn(url: string): Reference {
  if (url.length > 4 * MAX_REFERENCE_CHARS) throw new ContentError('bad-reference', 'the reference is too long')
  const [ref, ...more] = new URL(url, 'http://localhost').searchParams.getAll('ref')
  if (ref === undefined || more.length > 0)
    throw new ContentError('bad-reference', `${CONTENT_PATH}?ref= takes one reference`)
  return readReference(ref)
}

/** Reads a member from those folders that are archives of the fleet; a file in any other folder is `gone`. */
export function inFolders(reference: Reference, folders: ContentServerOptions['folders']): ReadMember {
  return async function* (from, to) {
    const all = await folders()
    // Names are never reused, so the name is enough where a reference has no folder.
    const own = reference.kind === 'file' ? all.filter((folder) => folder === reference.folder) : all
    let gone = new ContentError('gone', `${reference.name} is in none of the folders that are kept here`)
    for (const folder of own) {
      try {
        return yield* readFileMember(folder, reference, from, to)
      } catch (error) {
        if (!(error instanceof ContentError && error.code === 'gone')) throw error
        gone = error
      }
    }
    throw gone
  }
}

/** A written record never changes. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
const NO_SNIFFING = { 'x-content-type-options': 'nosniff' }

/**
 * Answers an authorised request with the body of a page, without its content coding, for programs that do not read WARC. The body is
 * untrusted, so headers keep browsers from showing or running it. @throws before the answer has begun
 */
export async function sendBody(
  read: ReadMember,
  length: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const record = await readRecord(read(), length)
  try {
    await send(new Content(record, async () => record).stream(), request, response, 200, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': IMMUTABLE,
      ...NO_SNIFFING,
    })
  } finally {
    await record.close?.()
  }
}

/** Answers an authorised request with a member: whole, a range, or 304. @throws before the answer has begun */
export async function sendMember(
  read: ReadMember,
  length: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const hash = createHash('sha256').update(request.url ?? '')
  const tag = `"${hash.digest('base64url').slice(0, 22)}"`
  const headers = { etag: tag, 'cache-control': IMMUTABLE, 'accept-ranges': 'bytes', ...NO_SNIFFING }
  if (request.headers['if-none-match']?.split(',').some((one) => one.trim() === tag))
    return void response.writeHead(304, headers).end()
  const ifRange = request.headers['if-range']
  const range = ifRange === undefined || ifRange === tag ? requestedRange(request.headers.range, length) : undefined
  if (range === 'outside') {
    response.setHeader('content-range', `bytes */${length}`)
    return problem(response, 416, 'range', `the record has ${length} bytes`)
  }
  const [from, to] = range ?? [0, length - 1]
  const pieces = read(from, request.method === 'HEAD' ? from : to) // for HEAD, a byte shows that the record is there
  await send(pieces, request, response, range === undefined ? 200 : 206, {
    ...headers,
    'content-type': 'application/gzip',
    'content-length': to - from + 1,
    ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${to}/${length}` }),
  })
}

/** An answer that has begun is cut off by an error. @throws an error that comes before the first piece */
async function send(
  pieces: AsyncIterable<Uint8Array>,
  { method }: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
): Promise<void> {
  const input = new ByteInput(pieces)
  try {
    await input.peek(1)
    response.writeHead(status, headers)
    if (method === 'HEAD') response.end()
    else await pipeline(input, response).catch(() => undefined)
  } finally {
    await input.close()
  }
}

/** Parses one range. Several ranges, or an unreadable header, are answered with the whole record (RFC 9110 §14.2). */
function requestedRange(header: string | undefined, length: number): [number, number] | 'outside' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (first === '') return Number(last) === 0 ? 'outside' : [Math.max(0, length - Number(last)), length - 1]
  if (Number(first) >= length) return 'outside'
  if (last !== '' && Number(last) < Number(first)) return undefined
  return [Number(first), last === '' ? length - 1 : Math.min(Number(last), length - 1)]
}

/**
 * With a token, everybody who sends it may read. Without one, only programs on this machine that use a loopback name: a web page could
 * send requests too, but only under another name or with headers that reveal it.
 */
function refusalOf(
  { headers, socket }: IncomingMessage,
  token: string | undefined,
): [status: number, type: string, detail: string] | undefined {
  if (token !== undefined) {
    const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
    if (given !== undefined && timingSafeEqual(digest(given), digest(token))) return undefined
    return [401, 'token-needed', 'Authorization: Bearer with the CONTENT_TOKEN of the fleet is needed']
  }
  const isPage = headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none'
  if (isLoopback(socket.remoteAddress) && !isPage && isLoopback(hostnameOf(headers.host))) return undefined
  return [403, 'not-loopback', 'without CONTENT_TOKEN only programs of this machine are answered']
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const isLoopback = (host = ''): boolean => /^(::ffff:)?127\.|^::1$|^\[::1\]$|^localhost$/.test(host.toLowerCase())
const hostnameOf = (header = ''): string =>
  URL.canParse(`http://${header}`) ? new URL(`http://${header}`).hostname : ''

/** Answers with an error that came before the answer had begun. */
export function answerError(response: ServerResponse, error: unknown): void {
  if (error instanceof ContentError) problem(response, STATUS[error.code], error.code, error.message)
  else problem(response, 500, 'internal', 'it could not be read')
}

function problem(response: ServerResponse, status: number, type: string, detail: string): void {
  const headers = { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store' }
  if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="Decorum content"')
  response.writeHead(status, headers).end(`${JSON.stringify(problemBody(status, type, detail))}\n`)
}
