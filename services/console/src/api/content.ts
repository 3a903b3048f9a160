/**
 * Pages that the fleet keeps, by reference: from a folder of this machine that contains its archives, from the store, or from the
 * fetcher that keeps them. Only fetchers that have announced themselves in Redis are contacted, because anybody can write a reference.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  answerError,
  archiveFolders,
  atFirstPlace,
  ContentError,
  fetchMember,
  inFolders,
  type ReadMember,
  type Reference,
  type StoreAccess,
  sendBody,
  sendMember,
  storeAt,
} from '@decorum/content/server'
import type { LedgerWithViews } from '@decorum/ledger/views'
import type { ConsoleConfig } from '../config.ts'

export type ContentQuestion = {
  reference: Reference
  /** the reference as given */
  ref: string
  /** `record`: the gzip member. `body`: the body of the page, without its content coding */
  as: 'record' | 'body'
}

/** @returns a function that answers an authorised request; it never throws */
export function contentHandler(
  { archiveDir, crawls, contentToken, store }: ConsoleConfig['content'],
  ledger: LedgerWithViews,
) {
  return async (question: ContentQuestion, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const send = question.as === 'record' ? sendMember : sendBody
    const { length } = question.reference
    try {
      await atFirstPlace(placesOf(question), (read) => send(read, length, request, response))
    } catch (error) {
      answerError(response, error)
    }
  }

  function placesOf({ reference, ref }: ContentQuestion): ReadMember[] {
    const folder = inFolders(reference, () => archiveFolders(archiveDir, crawls))
    if (reference.kind === 'file') return [folder]
    if (reference.kind === 'http') return [atFetcher(reference.base, ref, reference.length)]
    // The folder, the store, the fetcher in case it has not uploaded the file yet, and the store in case it has done so meanwhile
    const { bucket, prefix, name, offset, length, until } = reference
    const read: ReadMember = (from = 0, to = length - 1) =>
      storeAt(store as StoreAccess).range({ bucket, key: prefix + name }, offset + from, to - from + 1)
    const isOurs = store !== undefined && store.bucket === bucket && store.prefix === prefix // anybody can write a reference
    const stored = isOurs ? [read] : []
    if (until.kind !== 'http') return [folder, ...stored]
    return [folder, ...stored, atFetcher(until.base, ref, length), ...stored]
  }

  function atFetcher(base: string, ref: string, length: number): ReadMember {
    const authorization = contentToken === undefined ? undefined : `Bearer ${contentToken}`
    return async function* (from = 0, to = length - 1) {
      const isAnnounced = await ledger.keepsContent(base).catch((error: unknown) => {
        throw new ContentError('unavailable', 'Redis does not answer', error)
      })
      if (!isAnnounced) throw new ContentError('unavailable', `no running fetcher keeps pages at ${base}`)
      try {
        yield* fetchMember({ base, authorization }, ref, length, { from, to })
      } catch (error) {
        if (!(error instanceof ContentError && error.code === 'forbidden')) throw error
        throw new ContentError('unavailable', `the fetcher at ${base} has another CONTENT_TOKEN than the console`)
      }
    }
  }
}
