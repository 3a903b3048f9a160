/**
 * Keeps the pages of orders in a sink of the fetcher. The program that starts this process passes the sink in, because services do not
 * import each other.
 */

import { type Agents, type StoreOptions, storeOptions } from '@decorum/config'
import type { ArchiveRef } from '@decorum/protocol'
import { abortAfter, type Clock } from '@decorum/protocol'
import type { PageOfWorker, PagesOfWorkers } from '@decorum/sending'
import type { Logger } from 'pino'
import type { PermitsConfig } from './config.ts'

type Store = StoreOptions & { log: Logger }
/** @returns undefined when nothing is kept */
export type OpenPages = (
  which: string,
  options: { folder: string; agents: Agents; contentUrl: string; s3?: Store },
) => Promise<PagesOfWorkers | undefined>

export type Pages = Awaited<ReturnType<typeof openPages>>

/** Time limit for keeping a page: the worker that reported it waits meanwhile. */
const KEEP_MS = 5_000

/**
 * If an agent names a pool, the sink opens at start, so that a wrong setting prevents the start; if only a crawl names one, which may
 * happen at any time, the sink opens with the first page.
 * @throws SettingsError
 */
export async function openPages(config: PermitsConfig, open: OpenPages | undefined, log: Logger, clock: Clock) {
  let opened: Promise<PagesOfWorkers | undefined> | undefined
  let keeper: PagesOfWorkers | undefined
  const opening = (): Promise<PagesOfWorkers | undefined> => {
    opened ??= openKeeper(config, open, log).then((now) => (keeper = now))
    opened.catch(() => (opened = undefined)) // the next page retries
    return opened
  }
  if (config.agents.list.some(({ pool }) => pool !== undefined)) await opening()
  return {
    /** @returns where the page is stored; undefined when it is not kept. A failure is only logged */
    async keep(page: PageOfWorker): Promise<ArchiveRef | undefined> {
      try {
        return await (await opening())?.keep(page, abortAfter(clock, KEEP_MS))
      } catch (error) {
        log.error({ err: error }, 'a page could not be kept')
        return undefined
      }
    },
    /** false: no more pages until the store has accepted some of those that wait */
    hasRoom: (): boolean => keeper?.room() === undefined,
    close: async (): Promise<void> => (await opened?.catch(() => undefined))?.close(),
  }
}

async function openKeeper(
  config: PermitsConfig,
  open: OpenPages | undefined,
  log: Logger,
): Promise<PagesOfWorkers | undefined> {
  const { PAGE_SINK: which, ARCHIVE_DIR: folder, CONTENT_URL, agents } = config
  if (folder === '') {
    if (which !== 'none') log.warn('pages of workers are not kept: set ARCHIVE_DIR to a folder for them')
    return undefined
  }
  const store = storeOptions(config)
  const contentUrl = CONTENT_URL === '' ? '' : new URL(CONTENT_URL).origin
  return open?.(which, { folder, agents, contentUrl, ...(store && { s3: { ...store, log } }) })
}
