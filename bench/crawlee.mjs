/**
 * Another crawler before the same judge: Crawlee's HttpCrawler on a small recording web, for docs/promises.md. Crawlee is
 * no dependency of ours: install it in any folder and name that.
 *   npm install --prefix /somewhere @crawlee/http
 *   node bench/crawlee.mjs /somewhere
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { agentsOf, judgeRecord, readLogs } from '@decorum/audit'
import { spawnWeb } from '@decorum/cli/synthetic-web'

const [folder = ''] = process.argv.slice(2)
const load = createRequire(join(resolve(folder), 'package.json'))
const { HttpCrawler, Configuration, log } = load('@crawlee/http')

const rules = (...lines) => ({ body: `${lines.join('\n')}\n`, type: 'text/plain' })
const KINDS = {
  plain: { robots: rules('User-agent: *', 'Disallow: /private'), pages: { delayMs: 20 } },
  delay: { robots: rules('User-agent: *', 'Crawl-delay: 2') },
  outage: { robots: { status: 503 } },
  tired: { robots: rules('User-agent: *'), pages: { cycle: [{}, {}, {}, { status: 429, retryAfter: '2' }] } },
  slow: { robots: rules('User-agent: *'), pages: { delayMs: 400, dribbleMs: 300 } },
}
const EACH = 4
const sites = Object.entries(KINDS).flatMap(([kind, site]) =>
  Array.from({ length: EACH }, (_, n) => ({ name: `${kind}-${n}`, ...site })),
)
const scratch = await mkdtemp(join(tmpdir(), 'decorum-crawlee-'))
const record = join(scratch, 'visits.ndjson')
const web = await spawnWeb({ sites, record })
const urls = Object.values(web.origins).flatMap((origin) => [
  ...Array.from({ length: 8 }, (_, n) => `${origin}/page-${n}`),
  `${origin}/private/page`,
])
try {
  log.setLevel(log.LEVELS.OFF)
  const crawler = new HttpCrawler(
    {
      respectRobotsTxtFile: true,
      minConcurrency: 20,
      maxConcurrency: 50,
      maxRequestRetries: 2,
      additionalMimeTypes: ['text/plain'],
      requestHandler: async () => {},
    },
    new Configuration({ persistStorage: false }),
  )
  const began = performance.now()
  await crawler.run(urls)
  await web.flush()
  const evidence = await readLogs([record])
  console.log(
    `@crawlee/http ${load('@crawlee/http/package.json').version}, respectRobotsTxtFile, 20 to 50 requests at once: ` +
      `${urls.length} URLs of ${sites.length} origins in ${((performance.now() - began) / 1_000).toFixed(1)} s`,
  )
  // A silence of a second is our manners; without it only what the sites themselves have asked for is counted.
  for (const minDelayMs of [1_000, 0]) {
    const agents = agentsOf({ agent: 'crawlee', profile: 'rfc9309', minDelayMs, maxDelayMs: 10_000 })
    const { requests, violations } = judgeRecord(evidence, { agents })
    console.log(`delay ${minDelayMs} ms: ${requests} requests,`, violations)
  }
} finally {
  await web.stop()
  await rm(scratch, { recursive: true, force: true })
}
