/** Lists the folders of this machine that hold archives of the fleet. */
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'

/**
 * @param own     ARCHIVE_DIR, or ''
 * @param crawls  DECORUM_CRAWLS, or '': a folder of notes, one for each crawl whose pages are kept in a separate folder
 */
export async function archiveFolders(own: string, crawls: string): Promise<string[]> {
  const folders = new Set(own === '' ? [] : [resolve(own)])
  const names = crawls === '' ? [] : await readdir(crawls).catch(() => [])
  for (const name of names.filter((one) => one.endsWith('.json'))) {
    const pages = await readFile(join(crawls, name), 'utf8').then(pagesIn, () => '') // deleted in the meantime
    if (pages !== '') folders.add(resolve(pages))
  }
  return [...folders]
}

function pagesIn(note: string): string {
  const { pages } = JSON.parse(note) as { pages?: unknown }
  return typeof pages === 'string' ? pages : ''
}
