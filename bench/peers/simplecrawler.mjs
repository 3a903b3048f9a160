/**
 * simplecrawler. Bare: respectRobotsTxt, interval, maxConcurrency 1, one crawler for each site.
 * https://www.npmjs.com/package/simplecrawler#configuration
 * Behind a proxy: no interval of its own, and no option: it sends by Node's global agents, which go by NODE_USE_ENV_PROXY. (Its own
 * useProxy speaks TLS to the proxy itself for HTTPS, and cannot be used beside that variable.)
 * Usage: simplecrawler.mjs FILE-OF-URLS, with PEER_DELAY_MS
 */
import { readFileSync } from 'node:fs'
import Crawler from 'simplecrawler'

const urls = readFileSync(process.argv[2], 'utf8').trim().split('\n')
const isBehind = process.env.http_proxy !== undefined
const sites = Map.groupBy(urls, (url) => new URL(url).origin)
for (const [first, ...pages] of sites.values()) {
  const crawler = new Crawler(first)
  Object.assign(crawler, {
    userAgent: 'peerbot/1 (+https://example.com/bot)',
    respectRobotsTxt: true,
    interval: isBehind ? 1 : Number(process.env.PEER_DELAY_MS),
    maxConcurrency: 1,
    discoverResources: false,
  })
  crawler.once('robotstxterror', () => undefined)
  for (const url of pages) crawler.queueURL(url)
  crawler.start()
}
