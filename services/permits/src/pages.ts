/** Where the pages of orders are kept. The fetcher's sinks do it; who starts this process hands them in, for services do not know each other. */
import { type Agent, type Agents, type StoreSettings, storeSettings } from '@decorum/config'
import type { ArchiveRef } from '@decorum/protocol'
import type { Logger } from 'pino'
import type { PermitsConfig } from './config.ts'

export type PageOfOrder = {
  origin: string
  path: string
  id: string
  meta?: Record<string, unknown>
  agent: Agent
  requestHeaders: [string, string][]
  status: number
  headers: [string, string][]
  body: Buffer
  truncated: false | 'length' | 'time' | 'disconnect' | 'type'
  startedAt: number
  ms: number
  address: string
}
type Keeper = {
  keep(page: PageOfOrder, signal: AbortSignal): Promise<ArchiveRef | undefined>
  /** undefined: there is room */
  room(): Promise<void> | undefined
  close(): Promise<void>
}
type Store = { settings: StoreSettings; fileBytes: number; maxBytes: number; log: Logger }
/** @returns undefined when nothing is kept */
export type OpenPages = (
  which: string,
  options: { folder: string; agents: Agents; contentUrl: string; s3?: Store },
) => Promise<Keeper | undefined>

export type Pages = {
  /** @returns where it lies; undefined when it is not kept, which is logged and holds nobody up */
  keep(page: PageOfOrder): Promise<ArchiveRef | undefined>
  /** false: no more pages until what waits for the store has become less */
  hasRoom(): boolean
  close(): Promise<void>
}

/** As long as a fetcher waits for its sink. */
const KEEP_MS = 5_000

/** @throws SettingsError */
export async function openPages(config: PermitsConfig, open: OpenPages | undefined, log: Logger): Promise<Pages> {
  const { PAGE_SINK: which, ARCHIVE_DIR: folder, CONTENT_URL, agents } = config
  const isWanted = folder !== '' && agents.list.some(({ pool }) => pool !== undefined)
  const contentUrl = CONTENT_URL === '' ? '' : new URL(CONTENT_URL).origin
  const options = { folder, agents, contentUrl, ...storeOf(config, isWanted, log) }
  const keeper = isWanted ? await open?.(which, options) : undefined
  return {
    async keep(page) {
      try {
        return await keeper?.keep(page, AbortSignal.timeout(KEEP_MS))
      } catch (error) {
        log.error({ err: error }, 'a page could not be kept')
        return undefined
      }
    },
    hasRoom: () => keeper?.room() === undefined,
    close: async () => keeper?.close(),
  }
}

/** @throws SettingsError when PAGE_SINK=s3 lacks one of its settings */
const storeOf = (config: PermitsConfig, isWanted: boolean, log: Logger): { s3?: Store } =>
  isWanted && config.PAGE_SINK === 's3'
    ? {
        s3: {
          settings: storeSettings(config),
          fileBytes: config.S3_FILE_MAX_BYTES,
          maxBytes: config.S3_SPOOL_MAX_BYTES,
          log,
        },
      }
    : {}
