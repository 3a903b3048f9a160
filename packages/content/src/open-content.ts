/** Opens the page that a reference names. */
import type { Clock } from '@decorum/protocol/time'
import { Content, type ContentHead } from './content.ts'
import { ContentError } from './errors.ts'
import { readFileMember } from './member-file.ts'
import { fetchMember, type Keeper } from './member-http.ts'
import { type StoreAccess, storeAt } from './object-store.ts'
import { atFirstPlace, type ReadMember } from './places.ts'
import { type PageRecord, readRecord } from './record.ts'
import { type Kept, type Reference, readReference } from './reference.ts'

export type ContentOptions = {
  /** the console's address, with user and password as in a URL: used for everything outside the folders of this machine */
  via?: string
  /** CONTENT_TOKEN of the fleet, which its fetchers require */
  token?: string
  /** addresses of fetchers, such as http://crawler-1:9000; no other address is used. `openFrontier` finds those of its fleet */
  fetchers?: readonly string[]
  /** the fleet's S3-compatible store, for `warc+s3:` references; without it they are read through the console (`via`) */
  s3?: StoreAccess
  /** most bytes of a decoded body; default 64 MiB */
  maxBytes?: number
}

/** Added by `openFrontier`: its clock, and the check whether an address is a fetcher of the fleet. @throws when the check fails */
export type FleetOptions = ContentOptions & { isFetcher?: (base: string) => Promise<boolean>; clock?: Clock }

/**
 * Opens content by reference alone, e.g. from an outcome in a file.
 * @throws ContentError · TypeError for wrong options
 */
export async function openContent(reference: string, options: ContentOptions = {}): Promise<Content> {
  const record = await readReferenced(reference, options)
  await record.close?.()
  return new Content(record, () => readReferenced(reference, options), options.maxBytes)
}

/** Opens content by an outcome, whose head is known; nothing is read before the first call. */
export function contentOf(head: ContentHead, reference: string, options: FleetOptions = {}): Content {
  // Looked up now, because the frontier may be closed when the content is read.
  const base = options.isFetcher === undefined || options.via !== undefined ? undefined : keeperIn(reference)
  if (base !== undefined) void options.isFetcher?.(base).catch(() => undefined)
  return new Content(head, () => readReferenced(reference, options), options.maxBytes)
}

/** Where a fetcher keeps the record, at least until it is in a store. */
const keptBy = (reference: Reference): Kept => (reference.kind === 's3' ? reference.until : reference)

/** The address of the fetcher that a reference names, if it names one. */
function keeperIn(text: string): string | undefined {
  try {
    const kept = keptBy(readReference(text))
    return kept.kind === 'http' ? kept.base : undefined
  } catch {
    return undefined // reading the content reports it
  }
}

async function readReferenced(text: string, options: FleetOptions): Promise<PageRecord> {
  const reference = readReference(text)
  return atFirstPlace(placesOf(reference, text, options), (read) => readRecord(read(), reference.length))
}

/**
 * Until an object in a store is complete the fetcher has the record, so the order is: the folder, if it is on this machine; the store;
 * the fetcher; the store again, because the object may have been completed in between.
 */
function placesOf(reference: Reference, text: string, options: FleetOptions): ReadMember[] {
  const { via, s3, clock } = options
  const { name, offset, length } = reference
  const kept = keptBy(reference)
  const folder: ReadMember[] = []
  if (kept.kind === 'file') folder.push(() => readFileMember(kept.folder, { name, offset, length, host: kept.host }))
  const stored: ReadMember[] = []
  if (reference.kind === 's3' && s3 !== undefined) {
    const place = { bucket: reference.bucket, key: reference.prefix + name }
    stored.push(() => storeAt(s3, clock).range(place, offset, length))
  }
  const keepers: ReadMember[] = []
  if (via !== undefined) keepers.push(() => fetchMember(consoleAt(via), text, length, options))
  else if (kept.kind === 'http') keepers.push(() => readFromFetcher(kept.base, text, length, options))
  return [...folder, ...stored, ...keepers, ...stored]
}

/** Anybody, also a worker with a limited token, can write a reference, so a reference alone never decides which address is contacted. */
async function* readFromFetcher(
  base: string,
  text: string,
  length: number,
  options: FleetOptions,
): AsyncGenerator<Uint8Array> {
  const { token, fetchers = [], isFetcher } = options
  if (!fetchers.some((one) => addressOf(one, FETCHER).origin === base)) {
    if (isFetcher === undefined)
      throw new ContentError(
        'elsewhere',
        `the reference names ${base}, which \`fetchers\` does not: no other address is asked`,
      )
    const isOurs = await isFetcher(base).catch((error: unknown) => {
      throw new ContentError('unavailable', 'Redis does not say which fetchers keep pages', error)
    })
    if (!isOurs) throw new ContentError('unavailable', `no running fetcher of this fleet keeps pages at ${base}`)
  }
  yield* fetchMember({ base, authorization: token && `Bearer ${token}` }, text, length, options)
}

const FETCHER = 'one of the fetchers is not an address such as http://crawler-1:9000'
const VIA = 'via is not an address such as http://127.0.0.1:7070'

function addressOf(text: string, otherwise: string): URL {
  if (!/^https?:/.test(text) || !URL.canParse(text)) throw new TypeError(`content: ${otherwise}`)
  return new URL(text)
}

/** The token is for fetchers, the login in `via` for the console: neither is sent to the other. */
function consoleAt(via: string): Keeper {
  const { origin, username, password } = addressOf(via, VIA)
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { base: origin, authorization: username === '' ? undefined : `Basic ${login}` }
}
