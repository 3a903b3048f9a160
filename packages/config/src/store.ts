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
