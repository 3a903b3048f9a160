/**
 * The place where the record of a page is stored, as one line of text:
 *
 *     warc+file://crawler-1/var/lib/decorum/pages/decorum-….warc.gz?offset=5120&length=2043
 *     warc+http://crawler-1:9000/decorum-….warc.gz?offset=5120&length=2043
 *     warc+s3://bucket/prefix/decorum-….warc.gz?offset=5120&length=2043&until=file%3A%2F%2Fcrawler-1%2Fvar%2Flib%2Fdecorum%2Fpages
 *
 * Offset and length are those of one gzip member. The name is that of the finished file: while the file is written its name ends in
 * `.open`, which readers try as well. An object appears in the store when its file is complete; until then, `until` names the place
 * of its records: a folder of the fetcher, or the fetcher's address.
 */
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ContentError } from './errors.ts'

/** Where a fetcher keeps records: a folder of a machine, or an address that serves them over HTTP. */
export type Kept =
  | { kind: 'file' /** of the machine that wrote it */; host: string /** absolute */; folder: string }
  | { kind: 'http' /** scheme, host and port */; base: string }
export type Bucket = { bucket: string /** '' or ending with a slash */; prefix: string }
type Place = { name: string; offset: number; length: number }
export type Reference = (Kept | ({ kind: 's3'; until: Kept } & Bucket)) & Place

/** Names of archives. Separators are not allowed, so a name cannot leave its folder. */
const NAME = /^[\w-][\w.-]{0,200}\.warc\.gz$/
export const MAX_REFERENCE_CHARS = 4_096

/** Path under which fetchers and the console serve a reference. */
export const CONTENT_PATH = '/v1/content'
export const isContentPath = (url: string | undefined): boolean => (url ?? '').split('?', 1)[0] === CONTENT_PATH

/** Name of this machine, only of characters allowed in the host of a URL, in lower case, so that each host has one spelling. */
export const thisHost = (): string =>
  hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')

/**
 * @param archive  a folder of this machine, or the base URL at which other machines reach its keeper
 * @param store    where the finished file goes
 */
export function writeReference(archive: string, { name, offset, length }: Place, store?: Bucket): string {
  const isFolder = /^https?:/.exec(archive) === null
  const kept: Kept = isFolder
    ? { kind: 'file', host: thisHost(), folder: archive }
    : { kind: 'http', base: new URL(archive).origin }
  const place = { name, offset, length }
  return format(store === undefined ? { ...kept, ...place } : { kind: 's3', ...store, until: kept, ...place })
}

function format(reference: Reference): string {
  const { name, offset, length } = reference
  const range = `offset=${offset}&length=${length}`
  if (reference.kind !== 's3') return `warc+${keptUrl(reference, name)}?${range}`
  const { bucket, prefix, until } = reference
  return `warc+s3://${bucket}/${prefix}${name}?${range}&until=${encodeURIComponent(keptUrl(until))}`
}

/** @param name  of the file; absent: the URL of the folder or of the fetcher */
function keptUrl(kept: Kept, name?: string): string {
  if (kept.kind === 'http') return name === undefined ? kept.base : `${kept.base}/${name}`
  const path = name === undefined ? kept.folder : join(kept.folder, name)
  return pathToFileURL(path).href.replace('file://', `file://${kept.host}`)
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PREFIX = /^([\w-][\w.-]{0,100}\/){0,8}$/

/** @returns why a store cannot have this name, or undefined */
export function wrongBucket({ bucket, prefix }: Bucket): string | undefined {
  if (!BUCKET.test(bucket)) return 'a bucket has 3 to 63 lower-case letters, digits, dots and hyphens'
  return PREFIX.test(prefix) ? undefined : 'a prefix is made of names that end with a slash each, such as crawl/pages/'
}

/** @throws ContentError `bad-reference` for anything that `writeReference` would not have written letter by letter */
export function readReference(text: string): Reference {
  const reference = parse(text)
  if (reference === undefined || format(reference) !== text) {
    const shown = JSON.stringify(String(text).slice(0, 200))
    throw new ContentError(
      'bad-reference',
      `not a reference such as warc+file://host/folder/name.warc.gz?offset=0&length=1: ${shown}`,
    )
  }
  return reference
}

const FORM = /^warc\+((?:file|https?|s3):\/\/.*\/)([^/?]+)\?offset=(\d{1,16})&length=(\d{1,16})(?:&until=(.+))?$/

/** Accepts more than `format` writes; the caller compares what `format` makes of the result. */
function parse(text: string): Reference | undefined {
  if (typeof text !== 'string' || text.length > MAX_REFERENCE_CHARS) return undefined
  const [, folder = '', name = '', from, bytes, until = ''] = FORM.exec(text) ?? []
  const place = { name, offset: Number(from), length: Number(bytes) }
  if (!NAME.test(name) || !Number.isSafeInteger(place.offset + place.length) || place.length < 1) return undefined
  try {
    const isStored = folder.startsWith('s3:')
    const kept = parseKept(isStored ? decodeURIComponent(until) : folder)
    if (kept === undefined || !isStored) return kept && { ...kept, ...place }
    const { host: bucket, pathname } = new URL(folder)
    const store = { bucket, prefix: pathname.slice(1) }
    return wrongBucket(store) === undefined ? { kind: 's3', ...store, until: kept, ...place } : undefined
  } catch {
    return undefined
  }
}

/** @throws TypeError when it is no URL */
function parseKept(text: string): Kept | undefined {
  if (/^https?:/.test(text)) return { kind: 'http', base: new URL(text).origin }
  // The host is read from the text: for `file:` URLs the parser removes 'localhost', and fileURLToPath accepts no host.
  const host = /^file:\/\/([a-z0-9.-]*)\//.exec(text)?.[1]
  return host === undefined
    ? undefined
    : { kind: 'file', host, folder: resolve(fileURLToPath(`file://${new URL(text).pathname}`)) }
}
