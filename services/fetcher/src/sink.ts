/**
 * What becomes of a page: one small interface, so that a crawl team needs no fork. Kept as WARC (archive.ts), as
 * files (folder.ts), not at all, or by a module of one's own.
 */
import type { ArchiveRef } from '@decorum/protocol'
import type { Answer } from './exchange.ts'

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
  answer: Answer
}

export type Sink = {
  /** false: bodies are counted and digested, not kept */
  readonly keepsBodies: boolean
  /**
   * Keeps a page; the outcome is written after this resolves, the lane's silence runs meanwhile.
   * @returns  where it lies, for the outcome; undefined when there is nothing to say
   * @throws   when it cannot be kept: the outcome then goes without, the error is logged and counted
   */
  store(page: Page): Promise<ArchiveRef | undefined>
  /** Everything handed over is safe when this resolves. */
  close(): Promise<void>
}

export const noSink: Sink = { keepsBodies: false, store: async () => undefined, close: async () => {} }
