/**
 * A loop over got, as many teams have one: no robots.txt, at most ten requests at once, one at a time and a delay for each site.
 * https://github.com/sindresorhus/got/blob/main/documentation/tips.md#proxying
 * Behind a proxy: an agent for it (here Node's own), and no delay of its own.
 * Usage: got.mjs FILE-OF-URLS, with PEER_DELAY_MS
 */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import got from 'got'

const urls = readFileSync(process.argv[2], 'utf8').trim().split('\n')
const { http_proxy, https_proxy, PEER_DELAY_MS } = process.env
const proxyEnv = { http_proxy, https_proxy }
const client = got.extend({
  headers: { 'user-agent': 'peerbot/1 (+https://example.com/bot)' },
  throwHttpErrors: false,
  ...(http_proxy && {
    agent: {
      http: new http.Agent({ keepAlive: true, proxyEnv }),
      https: new https.Agent({ keepAlive: true, proxyEnv }),
    },
  }),
})
const AT_ONCE = 10
const sites = [...Map.groupBy(urls, (url) => new URL(url).origin).values()]
const visitSites = async () => {
  for (let pages = sites.shift(); pages !== undefined; pages = sites.shift())
    for (const url of pages) {
      await client(url).catch(() => undefined)
      if (http_proxy === undefined) await sleep(Number(PEER_DELAY_MS))
    }
}
await Promise.all(Array.from({ length: AT_ONCE }, visitSites))
process.exit()
