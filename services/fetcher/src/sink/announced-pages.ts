/** Pages that a worker of a pool has fetched and whose bodies it sent: kept like those of the fetcher itself. */

import type { Agent } from '@decorum/config'
import type { ArchiveRef } from '@decorum/protocol'
import { Body, requestHead, type Truncated } from '@decorum/sending/bodies'
import { openSink } from './open-sink.ts'
import type { SinkOptions } from './sink.ts'

export type AnnouncedPage = {
  origin: string
  path: string
  id: string
  meta?: Record<string, unknown>
  agent: Agent
  /** as sent */
  requestHeaders: [string, string][]
  status: number
  /** as received */
  headers: [string, string][]
  /** without content coding */
  body: Buffer
  truncated: Truncated
  startedAt: number
  ms: number
  address: string
}
export type AnnouncedPages = {
  /** @returns where it lies; undefined when the sink does not say. @throws when it cannot be kept */
  keep(page: AnnouncedPage, signal: AbortSignal): Promise<ArchiveRef | undefined>
  /** as that of a sink */
  room(): Promise<void> | undefined
  close(): Promise<void>
}

/** @returns undefined when nothing is kept. @throws SettingsError */
export async function openAnnouncedPages(which: string, options: SinkOptions): Promise<AnnouncedPages | undefined> {
  const sink = await openSink(which, options)
  if (!sink.keepsBodies) return undefined
  return {
    async keep({ origin, path, id, meta, agent, requestHeaders, body: octets, ...given }, signal) {
      const body = new Body(true)
      await body.write(octets)
      const answer = {
        kind: 'answered' as const,
        protocol: 'http/1.1' as const, // workers do not report the protocol
        status: given.status,
        statusText: '',
        headers: given.headers.map(([name, value]): [string, string] => [
          asStored(name),
          value.replace(/[\r\n\0]+/g, ' '),
        ]),
        body,
        truncated: given.truncated,
        startedAt: given.startedAt,
        endedAt: performance.now(),
        timing: { totalMs: given.ms },
        address: given.address,
      }
      const head = requestHead(origin, path, requestHeaders.flat(), 'http/1.1')
      const page = { kind: 'page' as const, url: origin + path, agent: agent.name, requestHead: head, answer, id }
      try {
        return await sink.store(meta === undefined ? page : { ...page, meta }, signal)
      } finally {
        await body.discard()
      }
    },
    room: () => sink.room?.(),
    close: () => sink.close(),
  }
}

/** The body that is stored has neither a coding nor the length that it had on the wire. No field ends its line. */
const asStored = (name: string): string =>
  /^content-(encoding|length)$/i.test(name) ? `X-Archive-Orig-${name}` : name.replace(/[^\w!#$%&'*+.^`|~-]/g, '-')
