/** Where the pages of orders are kept. The fetcher's sinks do it; who starts this process hands them in, for services do not know each other. */
import type { Agent, Agents } from '@decorum/config'
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
type Keeper = { keep(page: PageOfOrder, signal: AbortSignal): Promise<ArchiveRef | undefined>; close(): Promise<void> }
/** @returns undefined when nothing is kept */
export type OpenPages = (
  which: string,
  options: { folder: string; agents: Agents; contentUrl: string },
) => Promise<Keeper | undefined>

export type Pages = {
  /** @returns where it lies; undefined when it is not kept, which is logged and holds nobody up */
  keep(page: PageOfOrder): Promise<ArchiveRef | undefined>
  close(): Promise<void>
}

/** As long as a fetcher waits for its sink. */
const KEEP_MS = 5_000

/** @throws SettingsError */
export async function openPages(config: PermitsConfig, open: OpenPages | undefined, log: Logger): Promise<Pages> {
  const { PAGE_SINK: which, ARCHIVE_DIR: folder, CONTENT_URL, agents } = config
  const isWanted = folder !== '' && agents.list.some(({ pool }) => pool !== undefined)
  const contentUrl = CONTENT_URL === '' ? '' : new URL(CONTENT_URL).origin
  if (isWanted && which === 's3') log.warn('pages of pools are not kept: PAGE_SINK=s3 takes those of fetchers alone')
  const keeper = isWanted && which !== 's3' ? await open?.(which, { folder, agents, contentUrl }) : undefined
  return {
    async keep(page) {
      try {
        return await keeper?.keep(page, AbortSignal.timeout(KEEP_MS))
      } catch (error) {
        log.error({ err: error }, 'a page could not be kept')
        return undefined
      }
    },
    close: async () => keeper?.close(),
  }
}
