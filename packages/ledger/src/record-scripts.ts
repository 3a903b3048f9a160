/** The scripts of shared records that are not verbs: they read neither the epoch nor the ledger's time. A full Redis runs them. */
import { CRAWL, EPOCH, KEY } from './layout.ts'
import { libraryOf } from './lua-library.ts'

const lua = libraryOf({ folder: new URL('./lua/record/', import.meta.url), constants: { KEY, EPOCH, CRAWL } })

export const recordTags = lua.script('tags', ['number', 'count'], { whenFull: true })
export const markNew = lua.script('mark-new', ['leftMs', 'announced'], { whenFull: true })
export const dropCrawl = lua.script('crawl-forget', ['name', 'keptMs', 'most'], { whenFull: true })
export const shareLimits = lua.script('crawl-share', ['version'], { whenFull: true })
