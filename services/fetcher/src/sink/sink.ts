/**
 * Where pages are kept: WARC files (archive.ts), plain files (folder.ts), nowhere, or in an operator's module
 * (services/fetcher/README.md shows one). Start at open-sink.ts.
 */

import type { Agents, StoreSettings } from '@decorum/config'
import type { ArchiveRef } from '@decorum/protocol'
import type { Answer } from '@decorum/sending/bodies'
import type { SpoolOptions } from './spool.ts'

/** The evidence that a page is unchanged; the names are those of WARC's profiles. */
export type Revisit = 'server-not-modified' | 'identical-payload-digest'

/** One exchange that ended with an answer. The body's bytes are as received, content coding included. */
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
  /** for robots.txt: the conclusions drawn from it, for readers of the archive */
  note?: Record<string, string>
  /** the page is unchanged: only the head of the answer is to be kept. `digest` is that of the frontier's copy, if known */
  revisit?: { kind: Revisit; digest: string | undefined }
}

export type Sink = {
  /** false: bodies are counted and digested, not kept, and `store` is not called */
  readonly keepsBodies: boolean
  /** whether `store` is called for unchanged pages as well (`revisit`). Absent: it is not */
  readonly keepsRevisits?: true
  /**
   * Keeps a page. The outcome is written when this resolves, and the lane's delay runs meanwhile. Afterwards the body is
   * discarded: reading it throws.
   * @param signal  aborts when the outcome is written without a reference: work that has not started by then should not be started
   * @returns  where the page is stored, for the outcome; undefined when there is nothing to report
   * @throws   when it cannot be kept: the outcome is then written without a reference, and the error is logged and counted
   */
  store(page: Page, signal: AbortSignal): Promise<ArchiveRef | undefined>
  /**
   * Back-pressure: undefined when more pages are accepted. Otherwise no further orders are accepted until it resolves; accepted orders
   * still finish, and their pages are stored. Absent: there is always room.
   */
  room?(): Promise<void> | undefined
  /** When this resolves, every page that was passed to `store` is stored. */
  close(): Promise<void>
}

/** Settings of the store, and of the folder in which pages wait for it. */
export type S3Options = Pick<SpoolOptions, 'maxBytes' | 'log' | 'checkEveryMs'> & {
  settings: StoreSettings
  /** size limit of one file */
  fileBytes: number
}

export type SinkOptions = {
  /** ARCHIVE_DIR; '' when it is not set */
  folder: string
  agents: Agents
  /** the address at which other machines reach pages kept by this process; '': there is none */
  contentUrl?: string
  /** size limit of one file; then the next one is started */
  maxBytes?: number
  /** settings of the store; present with PAGE_SINK=s3 */
  s3?: S3Options
}

/** The export of an operator's module: `export const openSink: OpenSink = async (options) => …` */
export type OpenSink = (options: SinkOptions) => Promise<Sink>

export const noSink: Sink = { keepsBodies: false, store: async () => undefined, close: async () => {} }
