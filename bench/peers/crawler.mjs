/**
 * crawler (node-crawler). Bare: a rateLimiter for each site, with the delay as its rateLimit. It reads no robots.txt.
 * https://www.npmjs.com/package/crawler#work-with-ratelimiters
 * Behind a proxy: the option `proxy`, and no rateLimit of its own.
 * Usage: crawler.mjs FILE-OF-URLS, with PEER_DELAY_MS
 */
import { readFileSync } from 'node:fs'
import Crawler from 'crawler'

const urls = readFileSync(process.argv[2], 'utf8').trim().split('\n')
const proxy = process.env.http_proxy
const sites = [...new Set(urls.map((url) => new URL(url).host))]
const crawler = new Crawler({
  ...(proxy === undefined ? { rateLimit: Number(process.env.PEER_DELAY_MS) } : { proxy, maxConnections: 10 }),
  silence: true,
  userAgents: 'peerbot/1 (+https://example.com/bot)',
  callback: (_error, _response, done) => done(),
})
crawler.on('drain', () => process.exit())
crawler.add(
  urls.map((url) => ({ url, ...(proxy === undefined && { rateLimiterId: sites.indexOf(new URL(url).host) + 1 }) })),
)
