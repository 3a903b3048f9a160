/** Crawls the URLs of a file, one a line, at a delay: peer.crawlee.ts FILE DELAY-SECONDS */
import { readFileSync } from 'node:fs'
import { Configuration, log } from '@crawlee/core'
import { HttpCrawler } from '@crawlee/http'

const [path = '', delay = '1'] = process.argv.slice(2)
log.setLevel(log.LEVELS.OFF)
const crawler = new HttpCrawler(
  {
    respectRobotsTxtFile: true,
    sameDomainDelaySecs: Number(delay),
    minConcurrency: 1_000,
    maxConcurrency: 2_000,
    maxRequestRetries: 0,
    requestHandler: async () => undefined,
  },
  new Configuration({ persistStorage: false, availableMemoryRatio: 0.8 }),
)
const urls = readFileSync(path, 'utf8').trim().split('\n')
await crawler.run(urls.map((url, n) => ({ url, uniqueKey: String(n) })))
