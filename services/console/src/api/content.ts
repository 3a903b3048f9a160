/**
 * Pages that the fleet keeps, by reference: from a folder of this machine that contains its archives, from the store, or from the
 * fetcher that keeps them. Only fetchers that have announced themselves in Redis are contacted, because anybody can write a reference.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  answerError,
  archiveFolders,
  CONTENT_PATH,
  ContentError,
  fetchMember,
  findMember,
  type Reference,
  readMemberPieces,
  type StoreAccess,
  sendBody,
  sendBytes,
  sendMember,
  storeAt,
} from '@decorum/content/server'
import type { LedgerWithViews } from '@decorum/ledger/views'
import type { ProblemBody } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import type { ConsoleConfig } from '../config.ts'

/** The only header fields that are passed on, of the request and of the answer. */
const ASKED = ['range', 'if-range', 'if-none-match'] as const
const ANSWERED = ['content-type', 'content-length', 'content-range', 'accept-ranges', 'etag', 'cache-control'] as const
const ANSWER_WITHIN_MS = 10_000

export type ContentQuestion = {
  reference: Reference
  /** the reference as given */
  ref: string
  /** `record`: the gzip member. `body`: of the page, without its content coding */
  as: 'record' | 'body'
}

/** A place that may have the record. If it does not, both functions throw a ContentError before anything is answered. */
type Place = {
  send(request: IncomingMessage, response: ServerResponse): Promise<void>
  pieces(): AsyncIterable<Uint8Array>
}

/** @returns a function that answers an authorised request; it never throws */
export function contentHandler(
  { archiveDir, crawls, contentToken, store }: ConsoleConfig['content'],
  ledger: LedgerWithViews,
) {
  return async (question: ContentQuestion, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let last: unknown
    for (const place of placesOf(question)) {
      try {
        if (question.as === 'record') await place.send(request, response)
        else await sendBody(place.pieces(), request, response)
        return
      } catch (error) {
        // An unreachable place that may have the record is reported before places that do not have it.
        if (!(last instanceof ContentError && last.code === 'unavailable')) last = error
        if (response.headersSent || !(error instanceof ContentError)) break
      }
    }
    answerError(response, last ?? new ContentError('gone', `${question.reference.name} is not here`))
  }

  function placesOf({ reference, ref }: ContentQuestion): Place[] {
    if (reference.kind === 'file') return [inFolder(reference)]
    if (reference.kind === 'http') return [atFetcher(reference.base, ref, reference.length)]
    // The folder, the store, or the fetcher that has not yet uploaded the file; then the store again
    const { bucket, prefix, name, offset, length, until } = reference
    const read = (from: number, to: number) =>
      storeAt(store as StoreAccess).range({ bucket, key: prefix + name }, offset + from, to - from + 1)
    const inStore: Place = {
      send: (request, response) => sendBytes(length, read, request, response),
      pieces: () => read(0, length - 1),
    }
    const isOurs = store !== undefined && store.bucket === bucket && store.prefix === prefix // anybody can write a reference
    const stored = isOurs ? [inStore] : []
    if (until.kind !== 'http') return [inFolder(reference), ...stored]
    return [inFolder(reference), ...stored, atFetcher(until.base, ref, length), ...stored]
  }

  function inFolder(reference: Reference): Place {
    const find = async () => findMember(reference, await archiveFolders(archiveDir, crawls))
    return {
      send: async (request, response) => sendMember(await find(), request, response),
      pieces: () => readMemberPieces(find),
    }
  }

  function atFetcher(base: string, ref: string, length: number): Place {
    const authorization = contentToken === undefined ? undefined : `Bearer ${contentToken}`
    const assertAnnounced = async (): Promise<void> => {
      const isAnnounced = await ledger.keepsContent(base).catch((error: unknown) => {
        throw new ContentError('unavailable', 'Redis does not answer', error)
      })
      if (!isAnnounced) throw new ContentError('unavailable', `no running fetcher keeps pages at ${base}`)
    }
    return {
      async send(request, response) {
        await assertAnnounced()
        await forward(base, ref, authorization, request, response)
      },
      async *pieces() {
        await assertAnnounced()
        try {
          yield* fetchMember({ base, authorization }, ref, length)
        } catch (error) {
          throw error instanceof ContentError && error.code === 'forbidden' ? otherToken(base) : error
        }
      },
    }
  }
}

const otherToken = (base: string): ContentError =>
  new ContentError('unavailable', `the fetcher at ${base} has another CONTENT_TOKEN than the console`)

async function forward(
  base: string,
  ref: string,
  authorization: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const headers = new Headers()
  for (const name of ASKED) if (typeof request.headers[name] === 'string') headers.set(name, request.headers[name])
  if (authorization !== undefined) headers.set('authorization', authorization)
  const gone = new AbortController()
  const timer = systemClock.timeout(() => gone.abort(), ANSWER_WITHIN_MS)
  response.once('close', () => gone.abort())
  const answer = await fetch(`${base}${CONTENT_PATH}?ref=${encodeURIComponent(ref)}`, {
    method: request.method ?? 'GET',
    headers,
    redirect: 'error',
    signal: gone.signal,
  }).catch((error: unknown) => {
    throw new ContentError('unavailable', `the fetcher at ${base} does not answer`, error)
  })
  systemClock.cancel(timer)
  const isWithout = answer.status === 401 || answer.status === 403 || answer.status === 410
  if (isWithout) {
    const said = (await answer.json().catch(() => ({}))) as Partial<Record<keyof ProblemBody, unknown>>
    if (answer.status !== 410) throw otherToken(base)
    const message = typeof said.detail === 'string' ? said.detail : `the fetcher at ${base} does not have it any more`
    throw new ContentError(said.type === 'damaged' ? 'damaged' : 'gone', message)
  }
  for (const name of ANSWERED) {
    const value = answer.headers.get(name)
    if (value !== null) response.setHeader(name, value)
  }
  response.writeHead(answer.status)
  if (answer.body === null) response.end()
  else await pipeline(Readable.fromWeb(answer.body), response)
}
