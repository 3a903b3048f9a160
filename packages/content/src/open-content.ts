/** Opens the page that a reference names. */
import type { Clock } from '@decorum/protocol/time'
import { Content, type ContentHead } from './content.ts'
import { ContentError } from './errors.ts'
import { type OpenMember, openMember, readMember } from './member-file.ts'
import { fetchMember, type Keeper } from './member-http.ts'
import { type StoreAccess, storeAt } from './object-store.ts'
import { type PageRecord, readLarge, readSmall } from './record.ts'
import { type Reference, readReference } from './reference.ts'

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

/** Members up to this size are read in one call; larger ones, and output beyond 1 MiB of a small one, are streamed. */
const SMALL_BYTES = 256 * 1024

/**
 * Opens content by reference alone, e.g. from an outcome in a file.
 * @throws ContentError · TypeError for wrong options
 */
export async function openContent(reference: string, options: ContentOptions = {}): Promise<Content> {
  const record = await readRecord(reference, options)
  record.close?.()
  let first = record.close === undefined ? record : undefined
  const open = async (): Promise<PageRecord> => {
    const kept = first
    first = undefined
    return kept ?? readRecord(reference, options)
  }
  return new Content(record, open, options.maxBytes)
}

/** Opens content by an outcome, whose head is known; nothing is read before the first call. */
export function contentOf(head: ContentHead, reference: string, options: FleetOptions = {}): Content {
  // Looked up now, because the frontier may be closed when the content is read.
  const base = options.isFetcher === undefined || options.via !== undefined ? undefined : keeperIn(reference)
  if (base !== undefined) void options.isFetcher?.(base).catch(() => undefined)
  return new Content(head, () => readRecord(reference, options), options.maxBytes)
}

/** The address of the fetcher that a reference names, if it names one. */
function keeperIn(text: string): string | undefined {
  try {
    const reference = readReference(text)
    const kept = reference.kind === 's3' ? reference.until : reference
    return kept.kind === 'http' ? kept.base : undefined
  } catch {
    return undefined // reading the content reports it
  }
}

async function readRecord(text: string, options: FleetOptions): Promise<PageRecord> {
  const reference = readReference(text)
  const { via } = options
  const request = (keeper: Keeper): Promise<PageRecord> =>
    readFrom(fetchMember(keeper, text, reference.length, options), reference.length)
  if (reference.kind === 's3') return readStored(reference, options, request)
  if (reference.kind === 'http')
    return request(via === undefined ? await fetcherAt(reference.base, options) : consoleAt(via))
  const member = await openMember(reference.folder, reference, { isRead: reference.length <= SMALL_BYTES }).catch(
    (error: unknown) => {
      const isElsewhere = error instanceof ContentError && (error.code === 'elsewhere' || error.code === 'gone')
      if (isElsewhere && via !== undefined) return undefined
      throw error
    },
  )
  return member === undefined ? request(consoleAt(via as string)) : readOpened(member)
}

async function readOpened(member: OpenMember): Promise<PageRecord> {
  const { handle, offset, length } = member
  if (length > SMALL_BYTES) return readLarge(handle.createReadStream({ start: offset, end: offset + length - 1 }))
  try {
    return await readBytes(await readMember(member))
  } finally {
    await handle.close()
  }
}

const readBytes = async (bytes: Uint8Array): Promise<PageRecord> => readSmall(bytes) ?? readLarge([bytes])

/**
 * Reads a record from a store. Until the object is complete the fetcher has the record, so the order is: the folder, if it is on this
 * machine; the store; the fetcher; the store again, because the object may have been completed in between.
 */
async function readStored(
  reference: Extract<Reference, { kind: 's3' }>,
  options: FleetOptions,
  request: (keeper: Keeper) => Promise<PageRecord>,
): Promise<PageRecord> {
  const { via, s3, clock } = options
  const { bucket, prefix, name, offset, length, until } = reference
  const place = { bucket, key: prefix + name }
  const ways: (() => Promise<PageRecord>)[] = []
  if (until.kind === 'file')
    ways.push(async () => readOpened(await openMember(until.folder, { ...until, name, offset, length })))
  const stored = s3 === undefined ? [] : [() => readFrom(storeAt(s3, clock).range(place, offset, length), length)]
  ways.push(...stored)
  if (via !== undefined) ways.push(() => request(consoleAt(via)))
  else if (until.kind === 'http') ways.push(async () => request(await fetcherAt(until.base, options)))
  if (ways.length > stored.length) ways.push(...stored)
  let last: ContentError | undefined
  for (const way of ways) {
    try {
      return await way()
    } catch (error) {
      if (!(error instanceof ContentError) || error.code === 'damaged') throw error
      // An unreachable place that may have the record is reported before places that do not have it.
      if (last?.code !== 'unavailable') last = error
    }
  }
  throw (
    last ??
    new ContentError(
      'elsewhere',
      `${name} is in the store ${bucket}: give its access as \`s3\`, or the console as \`via\``,
    )
  )
}

async function readFrom(source: AsyncGenerator<Uint8Array>, length: number): Promise<PageRecord> {
  if (length > SMALL_BYTES) return readLarge(source)
  const pieces: Uint8Array[] = []
  for await (const piece of source) pieces.push(piece)
  return readBytes(Buffer.concat(pieces))
}

/**
 * Anybody, also a worker with a limited token, can write a reference, so a reference alone never decides which address is contacted.
 * @throws ContentError
 */
async function fetcherAt(base: string, { token, fetchers = [], isFetcher }: FleetOptions): Promise<Keeper> {
  const isListed = fetchers.some((one) => addressOf(one, FETCHER).origin === base)
  if (!isListed && isFetcher === undefined)
    throw new ContentError(
      'elsewhere',
      `the reference names ${base}, which \`fetchers\` does not: no other address is asked`,
    )
  if (!isListed && (await isFetcher?.(base).catch(checkFailed)) !== true)
    throw new ContentError('unavailable', `no running fetcher of this fleet keeps pages at ${base}`)
  return { base, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
}

const checkFailed = (error: unknown): never => {
  throw new ContentError('unavailable', 'Redis does not say which fetchers keep pages', error)
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
