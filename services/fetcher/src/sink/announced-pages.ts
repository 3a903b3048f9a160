/** Keeps pages whose bodies workers of pools sent in, like pages of the fetcher itself. */

import { systemClock } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import type { PagesOfWorkers } from '@decorum/sending'
import { Body, requestHead } from '@decorum/sending/bodies'
import { openSink } from './open-sink.ts'
import type { SinkOptions } from './sink.ts'

/** @returns undefined when nothing is kept. @throws SettingsError */
export async function openAnnouncedPages(which: string, options: SinkOptions): Promise<PagesOfWorkers | undefined> {
  const sink = await openSink(which, options)
  if (!sink.keepsBodies) return undefined
  return {
    async keep({ origin, path, id, meta, agent, requestHeaders, body: bytes, headers, ms, ...given }, signal) {
      const body = new Body(true)
      await body.write(bytes)
      const answer = {
        ...given,
        kind: 'answered' as const,
        protocol: 'http/1.1' as const, // workers do not report the protocol
        tolerated: [],
        statusText: '',
        headers: headers.map(([name, value]): [string, string] => [asStored(name), value.replace(/[\r\n\0]+/g, ' ')]),
        body,
        endedAt: systemClock.monotonic(),
        timing: { totalMs: ms },
      }
      const head = requestHead(origin, path, requestHeaders.flat(), 'http/1.1')
      const page = {
        kind: 'page' as const,
        url: origin + path,
        agent: agent.name,
        requestHead: head,
        answer,
        id,
        ...defined({ meta }),
      }
      try {
        return await sink.store(page, signal)
      } finally {
        await body.discard()
      }
    },
    room: () => sink.room?.(),
    close: () => sink.close(),
  }
}

/** Renames Content-Encoding and Content-Length, which do not fit the decoded body; makes any other name a token. */
const asStored = (name: string): string =>
  /^content-(encoding|length)$/i.test(name) ? `X-Archive-Orig-${name}` : name.replace(/[^\w!#$%&'*+.^`|~-]/g, '-')
