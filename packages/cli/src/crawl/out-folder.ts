/**
 * The folder of one crawl: crawl.json (the arguments, and whether it is finished), outcomes.ndjson, pages/ (WARC), state/ (data of the
 * embedded Redis), crawl.log. An unfinished crawl can be resumed from it.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { CrawlName, DEFAULT_CRAWL, withoutLogin } from '@decorum/protocol'
import { defined } from '@decorum/runtime/defined'
import { z } from 'zod'
import { CommandError, messageOf, UsageError } from '../exit.ts'
import { OF_ONE_PROCESS } from '../lines.ts'
import { makeFolder, safeFolder } from '../local-redis/index.ts'

const Note = z.object({
  /** prefix of every candidate's id */
  run: z.string(),
  /** name of the crawl in the fleet; absent in folders of earlier versions, where it was `default` */
  crawl: CrawlName.default(DEFAULT_CRAWL),
  /** absolute path; '-' for input that can be read only once (standard input, a pipe) and is copied */
  file: z.string(),
  /** the copy of standard input is complete. Absent: the list is a file, the run ended earlier, or the copy could not be written */
  whole: z.boolean().optional(),
  /** size of the file, and time of its last change, ms, when the crawl began: a changed file would have other lines */
  bytes: z.number().optional(),
  changedAt: z.number().optional(),
  agent: z.string().optional(),
  /** the given REDIS_URL, without password; absent: an embedded Redis */
  redis: z.string().optional(),
  /** data folder of the embedded Redis with the remaining URLs, if it is not the folder's `state/` */
  stored: z.string().optional(),
  /** settings of the fleet that its environment gave: it goes on with these where a later environment leaves them out */
  settings: z.record(z.string(), z.string()).default({}),
  startedAt: z.string(),
  finishedAt: z.string().optional(),
})
export type CrawlNote = z.infer<typeof Note>

export type OutFolder = ReturnType<typeof folder>

export type OutFolderRequest = {
  out: string
  /** as typed; undefined only with `resume` */
  file: string | undefined
  resume: boolean
  agent: string | undefined
  /** name of the crawl in the fleet; absent: the id of its run */
  crawl?: string | undefined
  /** REDIS_URL */
  redis: string | undefined
  /** the fleet's settings that are given */
  settings: Record<string, string>
}

/** @throws UsageError when the folder contains another unfinished crawl, or none to resume */
export async function openOutFolder(requested: OutFolderRequest): Promise<OutFolder> {
  const request = { ...requested, redis: requested.redis === undefined ? undefined : withoutLogin(requested.redis) }
  const unusable = (error: unknown): never => {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${request.out} cannot be used for --out: ${messageOf(error)}`)
  }
  const dir = await safeFolder(resolve(request.out)).catch(unusable)
  const path = join(dir, 'crawl.json')
  const before = await readNote(path)
  const unfinished = before !== undefined && before.finishedAt === undefined
  if (request.resume) {
    if (!unfinished) throw new UsageError(`there is no unfinished crawl in ${dir}`)
    return folder(dir, await continued(before, request), 'resumed')
  }
  if (request.file === undefined) throw new UsageError('which URLs? name a file, or - for standard input')
  if (unfinished) {
    throw new UsageError(
      `${dir} holds an unfinished crawl of ${before.file}: continue it with --resume, or give another --out`,
    )
  }
  try {
    await makeFolder(dir)
    return folder(dir, await started(request, request.file), before)
  } catch (error) {
    return unusable(error)
  }
}

/** The settings with which the unfinished crawl in a folder began; none if there is no such crawl. */
export async function settingsOf(out: string): Promise<Record<string, string>> {
  const note = await readNote(join(resolve(out), 'crawl.json'))
  return note === undefined || note.finishedAt !== undefined ? {} : note.settings
}

/** @param before  the finished crawl whose outcomes are in the folder, if any; 'resumed': they are this crawl's */
function folder(dir: string, requested: CrawlNote, before: CrawlNote | 'resumed' | undefined) {
  const path = join(dir, 'crawl.json')
  const state = join(dir, 'state')
  let note = requested
  /** Writes the file completely, or leaves the old one. @throws CommandError with the error of the file system */
  const write = async (text: CrawlNote) => {
    const draft = `${path}.${process.pid}`
    try {
      await writeFile(draft, `${JSON.stringify(text, undefined, 2)}\n`, { flush: true })
      await rename(draft, path)
      note = text
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined)
      throw new CommandError(`${path} cannot be written: ${messageOf(error)}`)
    }
  }
  return {
    dir,
    get note() {
      return note
    },
    resumed: before === 'resumed',
    /** The list to read: the named file, or the copy of standard input. */
    list: note.file === '-' ? join(dir, 'urls.txt') : note.file,
    outcomes: join(dir, 'outcomes.ndjson'),
    pages: join(dir, 'pages'),
    state,
    /**
     * Data folder of the embedded Redis that stored this crawl last; `state` unless it joined another one. If somebody has removed the
     * folder, the remaining URLs are lost with it: the list is read again.
     */
    stored: requested.stored !== undefined && existsSync(requested.stored) ? requested.stored : state,
    log: join(dir, 'crawl.log'),
    /**
     * From now on the folder contains an unfinished crawl; the outcomes of a finished one are moved aside.
     * @param redisDir  data folder of the embedded Redis that stores it; absent: a given Redis
     */
    async start(redisDir?: string) {
      const { stored: _, ...rest } = note
      const elsewhere = redisDir === undefined || isSameFolder(redisDir, state) ? undefined : redisDir
      if (before !== 'resumed' && before !== undefined) {
        await setAside(dir, before)
        // It ended in another Redis, so what it had left here is done
        if (before.stored !== undefined) await rm(state, { recursive: true, force: true })
      }
      await write({ ...rest, ...defined({ stored: elsewhere }) })
    },
    /** Marks the copy of standard input as complete. */
    listIsWhole: () => write({ ...note, whole: true }),
    finish: () => write({ ...note, finishedAt: new Date().toISOString() }),
  }
}

async function readNote(path: string): Promise<CrawlNote | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw new UsageError(`${path} cannot be read: ${messageOf(error)}`)
  }
  try {
    return Note.parse(JSON.parse(text))
  } catch {
    throw new UsageError(`${path} is not a crawl's note: give another --out`)
  }
}

/** The note of a new crawl. A list that can be read only once, such as a pipe, is noted as standard input, so that a copy is kept. */
async function started(request: OutFolderRequest, file: string): Promise<CrawlNote> {
  const { agent, crawl, redis, settings } = request
  const run = `c${Date.now().toString(36)}${randomBytes(2).toString('hex')}`
  const found = file === '-' ? undefined : await stat(file)
  const seen = found?.isFile() && !OF_ONE_PROCESS.test(resolve(file)) ? found : undefined
  return {
    run,
    crawl: crawl ?? run,
    file: seen === undefined ? '-' : resolve(file),
    ...defined({ agent, redis, bytes: seen?.size, changedAt: seen?.mtimeMs }),
    settings,
    startedAt: new Date().toISOString(),
  }
}

/** The note of a crawl to resume. Lines are identified by number and the rest is in one Redis: list and Redis must be the same. */
async function continued(before: CrawlNote, request: OutFolderRequest): Promise<CrawlNote> {
  const note = { ...before, settings: request.settings }
  if (request.file !== undefined && request.file !== '-' && resolve(request.file) !== note.file) {
    throw new UsageError(`the unfinished crawl is one of ${note.file}, not of ${request.file}`)
  }
  if (note.redis !== request.redis) {
    throw new UsageError(
      note.redis === undefined
        ? 'the remaining URLs are stored in the folder itself: unset REDIS_URL to continue'
        : `the remaining URLs are stored at ${note.redis}: set REDIS_URL to that address to continue`,
    )
  }
  if (note.file === '-') return note
  const seen = await stat(note.file).catch(() => undefined)
  if (seen === undefined) throw new UsageError(`${note.file} is not there any more`)
  if (seen.size !== note.bytes || seen.mtimeMs !== note.changedAt) {
    throw new UsageError(
      `${note.file} has changed since the crawl began, so its lines cannot be told apart: crawl it as it is now under another --out`,
    )
  }
  return note
}

const isSameFolder = (one: string, other: string): boolean =>
  one === other || (existsSync(other) && realpathSync(other) === one)

/** Keeps the outcomes of a finished crawl under the name of its run. */
async function setAside(dir: string, note: CrawlNote): Promise<void> {
  await rename(join(dir, 'outcomes.ndjson'), join(dir, `outcomes-${note.run}.ndjson`)).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  })
}
