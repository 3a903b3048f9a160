/**
 * Options for a crawler of Crawlee 3, under which no request leaves without a permit of Decorum:
 * `new HttpCrawler({ ...(await decorum({ url })), requestHandler })`. turns.js is the queue; client.js sends, or browser.js.
 */
import { RequestQueue } from '@crawlee/core'
import { openPermits } from '../undici/permits.js'
import { routePage, tellOf } from './browser.js'
import { PermittedClient } from './client.js'
import { Turns } from './turns.js'

export { NO_NETWORK } from '../playwright/no-network.js'

/** An option of its own replaces those of HttpCrawler, which it does not export (crawlee 3.18, http-crawler.js): they are here, too. */
const POOL = {
  desiredConcurrency: 10,
  snapshotterOptions: { eventLoopSnapshotIntervalSecs: 2, maxBlockedMillis: 100 },
  systemStatusOptions: { maxEventLoopOverloadedRatio: 0.7 },
  maybeRunIntervalSecs: 0.05, // until the first request has told which pool to wake
}
const BLOCKED = ['image', 'media', 'font', 'stylesheet', 'eventsource', 'ping', 'other']

/**
 * @param options.url         of the permits service; http://127.0.0.1:7071
 * @param options.agent       one of DECORUM_AGENTS; absent: the first
 * @param options.token       where the service asks for one
 * @param options.queue       a RequestQueue; absent: the default one
 * @param options.patienceMs  how long a request waits for its turn; 600,000
 * @param options.onRefused   (request, problem): this URL will never go, and the request is marked as handled
 * @param options.blocked     types of Playwright that a browser does not load; images, fonts, style sheets and the like
 * @param options.shadow      nothing waits: the service records what would have waited
 */
export async function decorum(options = {}) {
  const { url = 'http://127.0.0.1:7071', agent, token, queue, patienceMs, blocked = BLOCKED, shadow = false } = options
  const permits = openPermits({ url, agent, token, shadow, patienceMs, waitMs: 3_000 })
  if (shadow)
    return {
      httpClient: new PermittedClient(permits),
      preNavigationHooks: [({ page }) => page && tellOf(page, permits)],
    }
  const turns = new Turns(queue ?? (await RequestQueue.open()), permits, options)
  return {
    requestQueue: turns.queue,
    httpClient: new PermittedClient(permits, turns),
    preNavigationHooks: [
      async ({ crawler, page, request }) => {
        turns.wakes(crawler)
        if (page) await routePage(page, turns.entryFor(request), permits, turns, blocked, crawler)
      },
    ],
    respectRobotsTxtFile: false, // a fetcher of the fleet asks for robots.txt
    autoscaledPoolOptions: POOL,
  }
}
