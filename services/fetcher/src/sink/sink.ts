/**
 * What becomes of a page: one small interface, so that a crawl team needs no fork. Kept as WARC (archive.ts), as files
 * (folder.ts), not at all, or by a module of one's own (services/fetcher/README.md shows one).
 */
import { access, constants, mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Agents, SettingsError } from '@decorum/config'
import { type ArchiveRef, SECOND } from '@decorum/protocol'
import type { Answer } from '../http/exchange.ts'

/** One exchange that ended with an answer. Octets are those of the wire, content coding included. */
export type Page = {
  kind: 'page' | 'robots'
  /** the URL requested, WHATWG form, without fragment */
  url: string
  /** product token of the agent, and the request's head as sent */
  agent: string
  requestHead: string
  /** id of the candidate; absent for robots.txt */
  id?: string
  meta?: Record<string, unknown>
  answer: Answer
  /** of robots.txt: what was concluded from it, for people who read the archive later */
  note?: Record<string, string>
}

export type Sink = {
  /** false: bodies are counted and digested, not kept, and `store` is not called */
  readonly keepsBodies: boolean
  /**
   * Keeps a page; the outcome is written after this resolves, the lane's silence runs meanwhile. The body is gone after:
   * reading it then throws.
   * @param signal  aborts when nobody waits any longer: what has not begun by then is not begun
   * @returns  where it lies, for the outcome; undefined when there is nothing to say
   * @throws   when it cannot be kept: the outcome then goes without, the error is logged and counted
   */
  store(page: Page, signal: AbortSignal): Promise<ArchiveRef | undefined>
  /** Everything handed over is safe when this resolves. */
  close(): Promise<void>
}

export type SinkOptions = {
  /** ARCHIVE_DIR; '' when it is not set */
  folder: string
  agents: Agents
}

/** What a module of one's own exports: `export const openSink: OpenSink = async (options) => …` */
export type OpenSink = (options: SinkOptions) => Promise<Sink>

export const noSink: Sink = { keepsBodies: false, store: async () => undefined, close: async () => {} }

/** A sink that does not come back costs its reference, not the lane: most that an outcome waits for one. */
const STORE_TIMEOUT_MS = 5 * SECOND

/** @throws Error when the sink takes too long (its signal has aborted by then), or what the sink throws */
export function storeInTime(sink: Sink, page: Page): Promise<ArchiveRef | undefined> {
  const waiting = new AbortController()
  return new Promise((complete, reject) => {
    const late = (): void => {
      const error = new Error(`the sink did not keep a page within ${STORE_TIMEOUT_MS} ms`)
      reject(error)
      waiting.abort(error)
    }
    const timer = setTimeout(late, STORE_TIMEOUT_MS)
    const stored = (async () => sink.store(page, waiting.signal))() // one's own may throw before it is a promise
    void stored.then(complete, reject).finally(() => clearTimeout(timer))
  })
}

/**
 * @param which  `warc` (nothing is kept while there is no folder) · `folder` · `none` · the path of a module
 * @throws       SettingsError naming what is wrong with PAGE_SINK or ARCHIVE_DIR
 */
export async function openSink(which: string, options: SinkOptions): Promise<Sink> {
  if (options.folder !== '' && which !== 'none') await checkFolder(options.folder)
  switch (which) {
    case 'none':
      return noSink
    case 'warc':
      return options.folder === '' ? noSink : (await import('./archive.ts')).openArchive(options.folder, options.agents)
    case 'folder':
      if (options.folder === '') throw new SettingsError('wrong settings:\n  PAGE_SINK: folder needs ARCHIVE_DIR')
      return (await import('./folder.ts')).openFolder(options.folder)
    default:
      return ownSink(which, options)
  }
}

async function checkFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
  } catch (error) {
    throw new SettingsError(`wrong settings:\n  ARCHIVE_DIR: ${folder} cannot be written: ${(error as Error).message}`)
  }
}

async function ownSink(path: string, options: SinkOptions): Promise<Sink> {
  const wrong = (why: string) => new SettingsError(`wrong settings:\n  PAGE_SINK: ${path}: ${why}`)
  let module: { openSink?: unknown }
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as { openSink?: unknown }
  } catch (error) {
    throw wrong(`neither warc, folder, none, nor a module that loads: ${(error as Error).message}`)
  }
  if (typeof module.openSink !== 'function') throw wrong('the module exports no function openSink')
  const sink = (await (module.openSink as OpenSink)(options)) as Partial<Sink> | undefined
  if (typeof sink?.keepsBodies !== 'boolean' || typeof sink.store !== 'function' || typeof sink.close !== 'function') {
    throw wrong('openSink must give { keepsBodies, store, close }')
  }
  return sink as Sink
}
