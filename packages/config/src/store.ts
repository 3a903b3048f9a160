/** The settings of an S3-compatible store, which are checked together. */
import { wrongSettings } from './read-settings.ts'
import type { SettingsOf } from './settings.ts'

export type StoreSettings = {
  endpoint: string
  region: string
  bucket: string
  prefix: string
  accessKeyId: string
  secretAccessKey: string
}

/** Options of a folder whose files are uploaded: the store, the largest size of one file, and of all files that wait. */
export type StoreOptions = { settings: StoreSettings; fileBytes: number; maxBytes: number }

const NEEDED = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const
type Given = Pick<SettingsOf<'fetcher'>, (typeof NEEDED)[number]>

/**
 * A file of this size is complete and is uploaded; one that is ten minutes old is uploaded in any case. An interrupted upload starts again,
 * so it should not be long.
 */
const FILE_MAX_BYTES = 64_000_000
/** A file holds at most a tenth of its folder, so that there is always one to upload, and room beside it. */
const FILES_OF_A_FOLDER = 10
/**
 * The default limit of files that wait for the store: a store that is unreachable for an hour should not stop a crawl, and a disk should
 * not run full.
 */
const SPOOL_MAX_BYTES = 10_000_000_000

/** `pages/crawl/` → the bucket, and the prefix of the names of its objects. */
function bucketOf(text: string): { bucket: string; prefix: string } {
  const slash = text.indexOf('/')
  return slash < 0 ? { bucket: text, prefix: '' } : { bucket: text.slice(0, slash), prefix: text.slice(slash + 1) }
}

/** @throws SettingsError naming each one that is missing */
export function storeSettings(c: Given): StoreSettings {
  const missing = NEEDED.filter((name) => (c[name] ?? '') === '')
  if (missing.length > 0) throw wrongSettings(...missing.map((name) => `${name}: is needed for an S3-compatible store`))
  const { origin, searchParams } = new URL(c.S3_ENDPOINT)
  return {
    endpoint: origin,
    region: searchParams.get('region') ?? 'us-east-1', // stores without regions take this one
    ...bucketOf(c.S3_BUCKET),
    accessKeyId: c.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: c.S3_SECRET_ACCESS_KEY ?? '',
  }
}

/** @returns undefined unless pages are kept in a store. @throws SettingsError naming each setting of the store that is missing */
export function storeOptions(c: Given & { PAGE_SINK: string; ARCHIVE_MAX_BYTES: number }): StoreOptions | undefined {
  if (c.PAGE_SINK !== 's3') return undefined
  const maxBytes = c.ARCHIVE_MAX_BYTES || SPOOL_MAX_BYTES
  const fileBytes = Math.min(FILE_MAX_BYTES, Math.ceil(maxBytes / FILES_OF_A_FOLDER))
  return { settings: storeSettings(c), fileBytes, maxBytes }
}
