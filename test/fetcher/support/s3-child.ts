/** Keeps pages in a store until it is killed, and tells which ones it was told are kept. */

import { openS3, type Page, type S3Options } from '@decorum/fetcher/testing'
import { Body } from '@decorum/sending/testing'
import { agentsOf } from './agents.ts'

process.once('message', (given: Given) => void keepOn(given))

type Given = { folder: string; settings: S3Options['settings']; life: number }

async function keepOn({ folder, settings, life }: Given): Promise<never> {
  const log = { info: () => undefined, warn: () => undefined }
  const sink = await openS3(folder, agentsOf(), {
    settings,
    fileBytes: 4_000,
    maxBytes: 10_000_000,
    log,
    checkEveryMs: 5,
  })
  for (let n = 0; ; n++) {
    const body = new Body(true)
    void body.write(
      Buffer.from(
        `page ${life}-${n} ${Array.from({ length: 400 }, (_, at) => (at * 7_919 + n * 31) % 9_973).join(' ')}`,
      ),
    )
    const url = `http://a.test/${life}/${n}`
    const answer = {
      kind: 'answered',
      status: 200,
      statusText: 'OK',
      headers: [['content-type', 'text/plain']],
      body,
      truncated: '',
      protocol: 'http/1.1',
      tolerated: [],
      startedAt: Date.now(),
      endedAt: 0,
      timing: { totalMs: 1 },
      address: '127.0.0.1',
    } satisfies Page['answer']
    const kept = await sink.store(
      { kind: 'page', url, agent: 'decorum', requestHead: 'GET / HTTP/1.1\r\n\r\n', answer, id: `${life}-${n}` },
      new AbortController().signal,
    )
    // Told before the next one is kept, also to a parent that stands still and reads nothing
    await new Promise((told) => process.send?.({ url, ref: kept?.ref }, undefined, {}, told))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
