/**
 * `GET /v1/content?ref=`: the bytes of one record, for a fetcher's health server and the console. A written record never changes,
 * so answers may be cached for ever and requested in ranges.
 */

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { PROBLEM_TYPE, problemBody } from '@decorum/protocol'
import { Content } from './content.ts'
import { ContentError, type ContentErrorCode } from './errors.ts'
import { type OpenMember, openMember } from './member-file.ts'
import { readLarge } from './record.ts'
import { CONTENT_PATH, MAX_REFERENCE_CHARS, type Reference, readReference } from './reference.ts'

export { ContentError } from './errors.ts'
export { archiveFolders } from './folders.ts'
export { fetchMember, type Keeper } from './member-http.ts'
export { type ObjectStore, type StoreAccess, StoreError, storeAt } from './object-store.ts'
export { type Bucket, CONTENT_PATH, type Reference, readReference, writeReference, wrongBucket } from './reference.ts'

export type ContentServerOptions = {
  /** folders whose archives may be read, absolute; evaluated for each request */
  folders: () => Promise<readonly string[]>
  /** CONTENT_TOKEN; undefined: only this machine may read, at its loopback address */
  token: string | undefined
}

const STATUS: Record<ContentErrorCode, number> = {
  'bad-reference': 400,
  forbidden: 403,
  elsewhere: 404,
  gone: 410,
  damaged: 410,
  unavailable: 503,
  'too-large': 422,
  undecodable: 422,
}

/** A request handler for `node:http`. It answers every request, and never throws. */
export function contentServer({ folders, token }: ContentServerOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const refusal = refusalOf(request, token)
      if (refusal !== undefined) return problem(response, ...refusal)
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return problem(response, 405, 'method', 'only GET and HEAD are answered')
      await sendMember(await findMember(referenceIn(request.url ?? ''), await folders()), request, response)
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

/** @throws ContentError `gone`, also for existing files in folders that are not archives of the fleet */
export async function findMember(reference: Reference, folders: readonly string[]): Promise<OpenMember> {
  // Names are never reused, so the name is enough where a reference has no folder.
  const own = reference.kind === 'file' ? folders.filter((folder) => folder === reference.folder) : folders
  let last: Error | undefined
  for (const folder of own) {
    try {
      return await openMember(folder, reference)
    } catch (error) {
      if (!(error instanceof ContentError && error.code === 'gone')) throw error
      last = error
    }
  }
  throw last ?? new ContentError('gone', `${reference.name} is in none of the folders that are kept here`)
}

/** Answers an authorised request: whole, a range, or 304. Closes the member. */
export async function sendMember(
  { handle, offset, length }: OpenMember,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await sendBytes(length, (from, to) => rangeOf({ handle, offset }, from, to), request, response)
  } finally {
    await handle.close()
  }
}

/** The bytes of a member from one position to another, both included. */
const rangeOf = ({ handle, offset }: Pick<OpenMember, 'handle' | 'offset'>, from: number, to: number) =>
  handle.createReadStream({ start: offset + from, end: offset + to, autoClose: false })

/** The bytes of a member that is found on the first read. @throws what `find` throws, before the first piece */
export async function* readMemberPieces(find: () => Promise<OpenMember>): AsyncGenerator<Uint8Array> {
  const member = await find()
  try {
    yield* rangeOf(member, 0, member.length - 1)
  } finally {
    await member.handle.close()
  }
}

/**
 * Answers with the body of a page, without its content coding, for programs that do not read WARC. The body is untrusted, so headers
 * keep browsers from showing or running it.
 */
export async function sendBody(
  member: AsyncIterable<Uint8Array>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const record = await readLarge(member)
  try {
    const pieces = new Content(record, async () => record).stream()[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
    const first = await pieces.next()
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': IMMUTABLE,
      ...NO_SNIFFING,
    })
    if (request.method === 'HEAD') return void response.end()
    await sendAll(first, pieces, response)
  } finally {
    record.close()
  }
}

/** A written record never changes. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
const NO_SNIFFING = { 'x-content-type-options': 'nosniff' }

/**
 * Answers in the same way with bytes from any source.
 * @param read  from and to, both included. @throws its error before the first piece
 */
export async function sendBytes(
  length: number,
  read: (from: number, to: number) => AsyncIterable<Uint8Array>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const tag = `"${createHash('sha256')
    .update(request.url ?? '')
    .digest('base64url')
    .slice(0, 22)}"`
  const ifRange = request.headers['if-range']
  const range = ifRange === undefined || ifRange === tag ? requestedRange(request.headers.range, length) : undefined
  const isKnown = request.headers['if-none-match']?.split(',').some((one) => one.trim() === tag) === true
  const [from, to] = range === undefined || range === 'outside' ? [0, length - 1] : range
  const isSent = !isKnown && range !== 'outside' && request.method !== 'HEAD'
  const pieces = isSent ? read(from, to)[Symbol.asyncIterator]() : undefined
  const first = await pieces?.next() // an error can be answered as such until the head is sent
  const headers = { etag: tag, 'cache-control': IMMUTABLE, 'accept-ranges': 'bytes', ...NO_SNIFFING }
  if (isKnown) return void response.writeHead(304, headers).end()
  if (range === 'outside') {
    response.setHeader('content-range', `bytes */${length}`)
    return problem(response, 416, 'range', `the record has ${length} bytes`)
  }
  response.writeHead(range === undefined ? 200 : 206, {
    ...headers,
    'content-type': 'application/gzip',
    'content-length': to - from + 1,
    ...(range === undefined ? {} : { 'content-range': `bytes ${from}-${to}/${length}` }),
  })
  if (pieces === undefined || first === undefined) return void response.end()
  await sendAll(first, pieces, response)
}

/** Sends a first piece, which has been read already, and those that follow it. */
const sendAll = (first: IteratorResult<Uint8Array>, rest: AsyncIterator<Uint8Array>, to: ServerResponse) =>
  pipeline(async function* () {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value
  }, to)

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

/** Answers with the error that was thrown. An answer that has begun is cut off. */
export function answerError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  if (error instanceof ContentError) problem(response, STATUS[error.code], error.code, error.message)
  else problem(response, 500, 'internal', 'it could not be read')
}

function problem(response: ServerResponse, status: number, type: string, detail: string): void {
  const headers = { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store' }
  if (status === 401) response.setHeader('www-authenticate', 'Bearer realm="Decorum content"')
  response.writeHead(status, headers).end(`${JSON.stringify(problemBody(status, type, detail))}\n`)
}
