/**
 * Pages that the fleet keeps, by reference: from a folder of this machine that holds its archives, or from the fetcher that
 * keeps them. Only fetchers that have announced themselves in Redis are asked, because anybody can write a reference.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  answerError,
  archiveFolders,
  CONTENT_PATH,
  ContentError,
  findMember,
  type Reference,
  type StoreAccess,
  sendBytes,
  sendMember,
  storeAt,
} from '@decorum/content/server'
import type { Ledger } from '@decorum/ledger'
import type { ConsoleConfig } from '../config.ts'

/** Header fields that are passed on, of the request and of the answer. No others are. */
const ASKED = ['range', 'if-range', 'if-none-match'] as const
const ANSWERED = ['content-type', 'content-length', 'content-range', 'accept-ranges', 'etag', 'cache-control'] as const
const ANSWER_WITHIN_MS = 10_000

type Stored = Extract<Reference, { kind: 's3' }>

/** @returns what answers a request that has been let in; it never throws */
export function contentHandler({ archiveDir, crawls, contentToken, store }: ConsoleConfig['content'], ledger: Ledger) {
  return async (reference: Reference, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      if (reference.kind === 's3') await sendStored(reference, request, response)
      else if (reference.kind === 'http') await forward(reference.base, request, response)
      else await sendMember(await findMember(reference, await archiveFolders(archiveDir, crawls)), request, response)
    } catch (error) {
      answerError(response, error)
    }
  }

  /** From a folder of this machine, the store, or the fetcher that has not yet brought the file there; then the store again. */
  async function sendStored(reference: Stored, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { bucket, prefix, name, offset, length, until } = reference
    const ways = [
      async () => sendMember(await findMember(reference, await archiveFolders(archiveDir, crawls)), request, response),
    ]
    const read = (from: number, to: number) =>
      storeAt(store as StoreAccess).range({ bucket, key: prefix + name }, offset + from, to - from + 1)
    const isOurs = store !== undefined && store.bucket === bucket && store.prefix === prefix // anybody can write a reference
    const stored = isOurs ? [() => sendBytes(length, read, request, response)] : []
    ways.push(...stored)
    if (until.kind === 'http') ways.push(() => forward(until.base, request, response, 'gone'), ...stored)
    let last = new ContentError('gone', `${name} is not here`)
    for (const way of ways) {
      try {
        return await way()
      } catch (error) {
        if (response.headersSent || !(error instanceof ContentError)) throw error
        if (last.code !== 'unavailable') last = error
      }
    }
    throw last
  }

  /** @param unless  an answer that says so is not passed on, but thrown */
  async function forward(
    base: string,
    request: IncomingMessage,
    response: ServerResponse,
    unless?: 'gone',
  ): Promise<void> {
    const isAnnounced = await ledger.keepsContent(base).catch((error: unknown) => {
      throw new ContentError('unavailable', 'Redis does not answer', error)
    })
    if (!isAnnounced) throw new ContentError('unavailable', `no running fetcher keeps pages at ${base}`)
    const headers = new Headers()
    for (const name of ASKED) if (typeof request.headers[name] === 'string') headers.set(name, request.headers[name])
    if (contentToken !== undefined) headers.set('authorization', `Bearer ${contentToken}`)
    const gone = new AbortController()
    const timer = setTimeout(() => gone.abort(), ANSWER_WITHIN_MS)
    response.once('close', () => gone.abort())
    const query = new URL(request.url ?? '', 'http://localhost').search
    const answer = await fetch(`${base}${CONTENT_PATH}${query}`, {
      method: request.method ?? 'GET',
      headers,
      redirect: 'error',
      signal: gone.signal,
    }).catch((error: unknown) => {
      throw new ContentError('unavailable', `the fetcher at ${base} does not answer`, error)
    })
    clearTimeout(timer)
    if (answer.status === 401 || answer.status === 403) {
      await answer.body?.cancel()
      throw new ContentError('unavailable', `the fetcher at ${base} has another CONTENT_TOKEN than the console`)
    }
    if (unless === 'gone' && answer.status === 410) {
      await answer.body?.cancel()
      throw new ContentError('gone', `the fetcher at ${base} does not have it any more`)
    }
    for (const name of ANSWERED) {
      const value = answer.headers.get(name)
      if (value !== null) response.setHeader(name, value)
    }
    response.writeHead(answer.status)
    if (answer.body === null) response.end()
    else await pipeline(Readable.fromWeb(answer.body), response)
  }
}
