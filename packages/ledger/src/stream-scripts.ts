/** The scripts of streams of outcomes. The client's bundle contains the texts of this folder only. */
import { KEY, OPERATION } from './layout.ts'
import { libraryOf } from './lua-library.ts'

/** Number of groups listed for one crawl, those with most to read; and of entries counted if Redis does not know a group's lag. */
export const READERS = { shown: 100, counted: 200 } as const

const lua = libraryOf({
  folder: new URL('./lua/streams/', import.meta.url),
  constants: { KEY, OPERATION, READERS },
})

export const readGroups = lua.script('read-groups', [])
export const forgetGroup = lua.script('forget-group', ['group', 'silentForMs', 'isFirst', 'by', 'reason', 'crawl'], {
  whenFull: true,
})
export const createGroup = lua.script('make-group', ['group', 'from', 'crawl'], { whenFull: true })
