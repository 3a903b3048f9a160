/** A note of a crawl for the fetchers of other commands on the same Redis: where its pages are kept. */
import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { replaceFile } from '@decorum/client/fleet-here'

export type CrawlNote = {
  /** prefix of the ids of its candidates; 'default': candidates of no crawl */
  run: string
  /** the crawl's folder; if it no longer exists, the note is ignored */
  out: string
  /** folder for its pages; '': pages are not kept */
  pages: string
}

export const crawlsFolder = (place: string): string => join(place, 'crawls')

/** Writes the note, and removes notes of crawls whose folder no longer exists. */
export async function writeCrawlNote(place: string, { run, ...note }: CrawlNote): Promise<void> {
  const folder = crawlsFolder(place)
  for (const name of await readdir(folder)) {
    const other = await readFile(join(folder, name), 'utf8').then(JSON.parse, () => undefined)
    if (other === undefined || !existsSync((other as CrawlNote).out)) await rm(join(folder, name), { force: true })
  }
  await replaceFile(join(folder, `${run}.json`), note)
}

const CLOSING_MS = 3_000
const CHECK_EVERY_MS = 100

/** Removes the note of a finished crawl. Resolves when other fetchers have closed their files in its folder, or after 3 s. */
export async function removeCrawlNote(place: string, { run, pages }: CrawlNote, isShared: boolean): Promise<void> {
  await rm(join(crawlsFolder(place), `${run}.json`), { force: true })
  if (!isShared || pages === '') return
  for (const until = performance.now() + CLOSING_MS; performance.now() < until; await sleep(CHECK_EVERY_MS)) {
    const names = await readdir(pages).catch(() => [])
    if (!names.some((name) => name.endsWith('.open'))) return
  }
}
