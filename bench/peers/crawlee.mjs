/**
 * Crawlee for JavaScript. Bare: respectRobotsTxtFile, sameDomainDelaySecs.
 * https://crawlee.dev/js/api/cheerio-crawler/interface/CheerioCrawlerOptions
 * Behind a proxy: a ProxyConfiguration, no delay of its own, and respectRobotsTxtFile off, because robots.txt is fetched past the
 * proxy. 403 is no sign of a blocked session there: it is what robots.txt forbids.
 * Crawlee does not check the certificates of sites, bare and behind a proxy.
 * Usage: crawlee.mjs FILE-OF-URLS, with PEER_DELAY_MS
 */
import { readFileSync } from 'node:fs'
import { CheerioCrawler, Configuration, log, ProxyConfiguration } from '@crawlee/cheerio'

const urls = readFileSync(process.argv[2], 'utf8').trim().split('\n')
const proxy = process.env.http_proxy
const bare = { respectRobotsTxtFile: true, sameDomainDelaySecs: Number(process.env.PEER_DELAY_MS) / 1_000 }
const behind = () => ({
  proxyConfiguration: new ProxyConfiguration({ proxyUrls: [proxy] }),
  sessionPoolOptions: { blockedStatusCodes: [401, 429] },
})
log.setLevel(log.LEVELS.OFF)
const crawler = new CheerioCrawler(
  { ...(proxy === undefined ? bare : behind()), requestHandler: () => undefined },
  new Configuration({ persistStorage: false }),
)
await crawler.run(urls)
process.exit()
