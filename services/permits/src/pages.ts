/** Where the pages of orders are kept. The fetcher's sinks do it; the program that starts this process passes them in, because services do not import each other. */
import { type Agent, type Agents, type StoreOptions, storeOptions } from '@decorum/config'
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
type Store = StoreOptions & { log: Logger }
/** @returns undefined when nothing is kept */
export type OpenPages = (
  which: string,
  options: { folder: string; agents: Agents; contentUrl: string; s3?: Store },
) => Promise<Keeper | undefined>

export type Pages = {
  /** @returns where it lies; undefined when it is not kept, which is only logged */
  keep(page: PageOfOrder): Promise<ArchiveRef | undefined>
  /** false: no more pages until the store has taken some of those that wait */
  hasRoom(): boolean
  close(): Promise<void>
}

/** The worker that has told the page waits for its answer meanwhile. */
const KEEP_MS = 5_000

/**
 * A pool that an agent names opens the sink at once, so that a wrong setting ends the start; one that only a crawl names, which may
 * happen at any time, opens it with its first page.
 * @throws SettingsError
 */
export async function openPages(config: PermitsConfig, open: OpenPages | undefined, log: Logger): Promise<Pages> {
  let opened: Promise<Keeper | undefined> | undefined
  let keeper: Keeper | undefined
  const opening = (): Promise<Keeper | undefined> => {
    opened ??= openKeeper(config, open, log).then((now) => (keeper = now))
    opened.catch(() => (opened = undefined)) // the next page tries again
    return opened
  }
  if (config.agents.list.some(({ pool }) => pool !== undefined)) await opening()
  return {
    async keep(page) {
      try {
        return await (await opening())?.keep(page, AbortSignal.timeout(KEEP_MS))
      } catch (error) {
        log.error({ err: error }, 'a page could not be kept')
        return undefined
      }
    },
    hasRoom: () => keeper?.room() === undefined,
    close: async () => (await opened?.catch(() => undefined))?.close(),
  }
}

async function openKeeper(
  config: PermitsConfig,
  open: OpenPages | undefined,
  log: Logger,
): Promise<Keeper | undefined> {
  const { PAGE_SINK: which, ARCHIVE_DIR: folder, CONTENT_URL, agents } = config
  if (folder === '') return undefined
  const store = storeOptions(config)
  const contentUrl = CONTENT_URL === '' ? '' : new URL(CONTENT_URL).origin
  return open?.(which, { folder, agents, contentUrl, ...(store === undefined ? {} : { s3: { ...store, log } }) })
}
