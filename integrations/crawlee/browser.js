/** A page of PlaywrightCrawler under permits: the browser sends nothing, each of its requests is sent from here when it may. */
import { CriticalError, NonRetryableError } from '@crawlee/core'
import { NO_NETWORK } from '../playwright/no-network.js'

// What sends without being seen here: as Playwright's own `serviceWorkers: 'block'`, which a crawler's option cannot set.
const UNSEEN = `delete globalThis.SharedWorker
if (navigator.serviceWorker) navigator.serviceWorker.register = async () => {}`
const closed = new WeakSet() // contexts in which only the pages that are routed here send anything

/** @throws CriticalError of a Chromium that could send something by itself */
function checkLaunch({ launchContext }) {
  const isOther = launchContext?.launcher !== undefined && launchContext.launcher.name?.() !== 'chromium'
  const args = launchContext?.launchOptions?.args ?? []
  if (!isOther && !NO_NETWORK.every((one) => args.includes(one)))
    throw new CriticalError(
      'launchOptions.args must hold NO_NETWORK of decorum.js: the browser could send without a permit',
    )
}

/** The page itself goes under the permit of its entry, which waited in the queue; all else waits for its own in this slot. */
export async function routePage(page, entry, permits, turns, blocked, crawler) {
  if (page.context === undefined)
    throw new CriticalError('of browsers, the option of Decorum is for those of Playwright alone')
  checkLaunch(crawler)
  const context = page.context()
  if (!closed.has(context)) {
    closed.add(context)
    await context.route('**/*', (route) => route.abort()) // windows that a page opens
    await context.routeWebSocket(/./, (socket) => socket.close())
  }
  await page.addInitScript(UNSEEN)

  const send = async (route, permit, url) => {
    // What is sent from here ends with its context, and not with its page.
    const exchange = permits.exchange(permit, () => context.close().catch(() => {}))
    const others = Object.entries(route.request().headers()).filter(
      ([name]) => !/^(user-agent|sec-ch-ua.*)$/.test(name),
    )
    const headers = { ...Object.fromEntries(others), 'user-agent': permit.userAgent }
    try {
      const answer = await route.fetch({ url, headers, maxRedirects: 0 })
      exchange.end(answer.status(), answer.headers())
      return answer
    } catch (error) {
      exchange.end(undefined, {}, error)
      throw error
    }
  }
  let isPage = false // between the call of `goto` for this entry and its request
  let redirect
  let failure
  const handle = async (route) => {
    const request = route.request()
    const isFirst = isPage && request.isNavigationRequest() && request.frame() === page.mainFrame()
    if (isFirst) isPage = false
    else if (blocked.includes(request.resourceType())) return route.abort()
    for (let url = request.url(); ;) {
      const { permit, problem } = await permits.fresh(url, isFirst ? entry.permit : undefined, () => !page.isClosed())
      if (isFirst && problem) failure = new NonRetryableError(`${url}: ${problem.detail ?? problem.type}`)
      if (problem) return route.abort()
      if (page.isClosed()) return permits.unused(permit)
      const answer = await send(route, permit, url)
      const { location } = answer.headers()
      if (answer.status() < 300 || answer.status() > 399 || location === undefined)
        return route.fulfill({ response: answer })
      url = new URL(location, url).href
      if (isFirst) redirect = url
      if (isFirst) return route.fulfill({ status: 204 }) // the page stays where it is, and no error page comes in between
      // The browser would follow it unseen. A document has to know its URL, so it is told to go there by itself.
      const body = `<script>location.replace(${JSON.stringify(url).replaceAll('<', '\\u003c')})</script>`
      if (request.isNavigationRequest()) return route.fulfill({ contentType: 'text/html', body })
    }
  }
  const goto = page.goto.bind(page)
  page.goto = async (target, options) => {
    if (target !== entry.request.url || entry.isUsed) return goto(target, options)
    entry.isUsed = true
    // Routes that were set later come first: none of Crawlee's own may send.
    await page.route('**/*', (route) => handle(route).catch(() => route.abort().catch(() => {})))
    for (;;) {
      redirect = undefined
      isPage = true
      try {
        return await goto(entry.url, options)
      } catch (error) {
        if (isPage) permits.unused(entry.permit)
        if (redirect === undefined) throw failure ?? error
      }
      await turns.follow(entry, redirect)
    }
  }
}

/** In shadow mode the browser sends as before, and its requests are told. */
export function tellOf(page, permits) {
  page.on('request', async (request) => {
    const { permit } = await permits.ask(request.url())
    const exchange = permits.exchange(permit)
    const response = await request.response().catch(() => null)
    await response?.finished().catch(() => {})
    exchange.end(response?.status(), response?.headers())
  })
}
