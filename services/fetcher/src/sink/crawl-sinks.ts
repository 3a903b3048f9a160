/**
 * Keeps the pages of several crawls that share a fleet, each in the folder of its crawl. A crawl writes a note into the folder
 * DECORUM_CRAWLS: `<run>.json`, if the ids of its candidates begin with `<run>-`. The note `default.json` is for all other
 * candidates.
 */

import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ArchiveRef } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import type { Page, Sink } from './sink.ts'

/** `out`: if this folder no longer exists, the crawl was abandoned and nothing is kept. `pages`: the target folder; '' keeps none. */
type Note = { out: string; pages: string }
type Kept = Note & { sink: Promise<Sink> | undefined }

const LOOK_EVERY_MS = 500
const RUN = /^([a-z0-9]+)-\d/

export type CrawlSinksOptions = {
  /** the folder of notes */
  folder: string
  /** this fetcher's sink: for robots.txt, and for crawls that keep their pages in the same folder */
  own: Sink
  /** ARCHIVE_DIR, or '' */
  ownFolder: string
  open(folder: string): Promise<Sink>
  onError(error: unknown): void
}

export function openCrawlSinks({ folder, own, ownFolder, open, onError }: CrawlSinksOptions): Sink {
  const kept = new Map<string, Kept>()
  let looking: Promise<void> | undefined

  async function look(): Promise<void> {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))
    const runs = new Set(names.map((name) => name.slice(0, -'.json'.length)))
    for (const run of runs) {
      if (kept.has(run)) continue
      const note = await read(run)
      if (note !== undefined) kept.set(run, { ...note, sink: undefined })
    }
    for (const [run, { sink }] of kept) {
      if (runs.has(run)) continue
      kept.delete(run)
      await sink?.then((one) => one.close()).catch(onError)
    }
  }

  async function read(run: string): Promise<Note | undefined> {
    try {
      return JSON.parse(await readFile(join(folder, `${run}.json`), 'utf8')) as Note
    } catch {
      return undefined // removed in the meantime
    }
  }

  const lookOnce = (): Promise<void> => {
    looking ??= look()
      .catch(onError)
      .finally(() => {
        looking = undefined
      })
    return looking
  }
  const timer = systemClock.interval(() => void lookOnce(), LOOK_EVERY_MS)
  timer.unref()

  async function sinkOf({ kind, id }: Page): Promise<Sink | undefined> {
    if (kind === 'robots') return own
    const run = RUN.exec(id ?? '')?.[1] ?? ''
    if (run !== '' && !kept.has(run) && existsSync(join(folder, `${run}.json`))) await lookOnce()
    const crawl = kept.get(run) ?? kept.get('default')
    if (crawl === undefined || crawl.pages === '' || !existsSync(crawl.out)) return undefined
    if (crawl.pages === ownFolder) return own
    crawl.sink ??= open(crawl.pages)
    return crawl.sink
  }

  return {
    keepsBodies: true,
    keepsRevisits: true,
    async store(page, signal): Promise<ArchiveRef | undefined> {
      const sink = await sinkOf(page)
      const isTaken = sink?.keepsBodies && (page.revisit === undefined || sink.keepsRevisits)
      return isTaken ? sink.store(page, signal) : undefined
    },
    room: () => own.room?.(),
    async close() {
      systemClock.cancel(timer)
      await looking
      const open = [...kept.values()].map(({ sink }) => sink?.then((one) => one.close()))
      await Promise.allSettled([own.close(), ...open])
    },
  }
}
