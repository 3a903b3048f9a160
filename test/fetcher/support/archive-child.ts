/** Writes pages into an archive until it is killed; says each place that it was given. argv: folder */

import { openArchive, type Page } from '@decorum/fetcher/testing'
import { Body } from '@decorum/sending/testing'
import { agentsOf } from './agents.ts'

const [folder = ''] = process.argv.slice(2)
const sink = await openArchive(folder, agentsOf())
for (let n = 0; ; n++) {
  const body = new Body(true)
  await body.write(Buffer.alloc(1_000 + (n % 7) * 9_000, `page ${n} `))
  const page: Page = {
    kind: 'page',
    url: `http://127.0.0.1/${n}`,
    agent: 'decorum',
    requestHead: 'GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n',
    answer: {
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
    },
  }
  const ref = await sink.store(page, new AbortController().signal)
  process.send?.(ref)
}
