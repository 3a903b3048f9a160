/** The settings of an S3-compatible store, which belong together. */
import { wrongSettings } from './read-settings.ts'

export type StoreSettings = {
  endpoint: string
  region: string
  bucket: string
  prefix: string
  accessKeyId: string
  secretAccessKey: string
}

/** What a folder on its way to the store needs to know: of the store, of one file, of all that waits. */
export type StoreOptions = { settings: StoreSettings; fileBytes: number; maxBytes: number }

type Given = {
  S3_ENDPOINT: string
  S3_REGION: string
  S3_BUCKET: string
  S3_PREFIX: string
  S3_ACCESS_KEY_ID?: string | undefined
  S3_SECRET_ACCESS_KEY?: string | undefined
}
const NEEDED = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'] as const

/** @throws SettingsError naming each one that is missing */
export function storeSettings(c: Given): StoreSettings {
  const missing = NEEDED.filter((name) => (c[name] ?? '') === '')
  if (missing.length > 0) throw wrongSettings(...missing.map((name) => `${name}: is needed for an S3-compatible store`))
  return {
    endpoint: new URL(c.S3_ENDPOINT).origin,
    region: c.S3_REGION,
    bucket: c.S3_BUCKET,
    prefix: c.S3_PREFIX,
    accessKeyId: c.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: c.S3_SECRET_ACCESS_KEY ?? '',
  }
}

/** @returns undefined unless pages are kept in a store. @throws SettingsError naming each setting of the store that is missing */
export function storeOptions(
  c: Given & { PAGE_SINK: string; S3_FILE_MAX_BYTES: number; S3_SPOOL_MAX_BYTES: number },
): StoreOptions | undefined {
  if (c.PAGE_SINK !== 's3') return undefined
  return { settings: storeSettings(c), fileBytes: c.S3_FILE_MAX_BYTES, maxBytes: c.S3_SPOOL_MAX_BYTES }
}
