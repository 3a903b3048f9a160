/**
 * Pages that the fleet keeps, by reference: from a folder of this machine that contains its archives, from the store, or from the
 * fetcher that keeps them. Only fetchers that have announced themselves in Redis are contacted, because anybody can write a reference.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  answerError,
  archiveFolders,
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
import type { ConsoleConfig } from '../config.ts'

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
    const isOurs = store !== undefined && store.bucket === bucket && store.prefix === prefix // anybody can write a reference
    const stored = isOurs ? [inPieces(length, read)] : []
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
    async function* read(from: number, to: number): AsyncGenerator<Uint8Array> {
      const isAnnounced = await ledger.keepsContent(base).catch((error: unknown) => {
        throw new ContentError('unavailable', 'Redis does not answer', error)
      })
      if (!isAnnounced) throw new ContentError('unavailable', `no running fetcher keeps pages at ${base}`)
      try {
        const part = to - from + 1
        yield* fetchMember({ base, authorization }, ref, part, part < length ? { from } : {})
      } catch (error) {
        if (!(error instanceof ContentError && error.code === 'forbidden')) throw error
        throw new ContentError('unavailable', `the fetcher at ${base} has another CONTENT_TOKEN than the console`)
      }
    }
    return inPieces(length, read)
  }
}

const inPieces = (length: number, read: (from: number, to: number) => AsyncIterable<Uint8Array>): Place => ({
  async send(request, response) {
    if (request.method === 'HEAD') for await (const _piece of read(0, 0)) break // whether it is there
    await sendBytes(length, read, request, response)
  },
  pieces: () => read(0, length - 1),
})
