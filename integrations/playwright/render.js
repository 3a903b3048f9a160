/**
 * One page, rendered. Chromium itself sends nothing (no-network.js): each request is intercepted, and sent from here, without its
 * redirects, when it has leave. The page has that of its order; more of its own origin goes under the same order, delay by delay, and
 * what belongs to other origins asks for a permit of these. Types that a text does not need are not loaded at all.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openPermits } from '../undici/permits.js'

const BLOCKED = new Set((process.env.BLOCK ?? 'image,media,font,stylesheet,eventsource,ping,other').split(','))
const MOST_REQUESTS = 20 // beside the page itself
const RENDER_MS = 20_000
const CLOSE_MS = 5_000
const REASONS = [
  [/ENOTFOUND|EAI_AGAIN/, 'dns'],
  [/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH/, 'connect'],
  [/certificate|SSL|TLS/i, 'tls'],
  [/[Tt]imeout|timed out/, 'timeout'],
  [/Parse Error|HPE_/, 'protocol'],
]

const clients = new Map() // agent → its permits
function permitsOf(agent, url) {
  if (!clients.has(agent)) clients.set(agent, openPermits({ url, agent, token: process.env.TOKEN }))
  return clients.get(agent)
}

/** @returns what to say of the order; undefined: nothing was sent */
export async function render(order, browser, service, permitsUrl) {
  const path = `/v1/permits/${order.permit}`
  const until = Date.now() + Math.min(RENDER_MS, order.deadlineMs ?? Infinity)
  const left = () => Math.max(1, until - Date.now())
  /** A browser that hangs or has crashed must not hold its worker for ever. */
  const within = (ms, work) => {
    const late = sleep(ms, undefined, { ref: false }).then(() =>
      Promise.reject(new Error('the browser does not answer')),
    )
    return Promise.race([work, late])
  }
  let context
  const others = permitsOf(order.agent, permitsUrl)
  let isOver = false
  let said
  let load
  let requests = 0
  /** Whether the order may go on; asked for when it is sent, and from time to time. */
  const isWanted = async () => {
    const { status, body } = await service.call('PATCH', path, {}, Math.ceil(order.leaseMs / 3)) // before the lease is over
    return status === 200 && body.stop === undefined
  }
  const look = async () => {
    if (!isOver && !(await isWanted())) {
      said ??= { reason: 'reset', error: 'no answer is wanted any more' }
      isOver = true
      await context?.close()
    }
  }
  // From now on: on a busy machine a new context alone may take longer than the lease
  const keeper = setInterval(() => void look().catch(() => {}), order.leaseMs / 3)
  try {
    context = await within(RENDER_MS, browser.newContext({ serviceWorkers: 'block' }))
  } catch (error) {
    clearInterval(keeper)
    throw error
  }

  const send = async (route) => {
    await context.clearCookies()
    return route.fetch({ headers: Object.fromEntries(order.headers), maxRedirects: 0, maxRetries: 0, timeout: left() })
  }
  const isRedirect = (status) => status >= 300 && status < 400
  const page = async (route) => {
    if (!(await isWanted())) {
      isOver = true
      return route.abort()
    }
    try {
      const answer = await send(route)
      const status = answer.status()
      said = { status, headers: answer.headersArray().map(({ name, value }) => [name, value]) }
      said.bytes = (await answer.body()).length
      const isPage = !isRedirect(status) && status !== 429 && status !== 503
      return isPage ? await route.fulfill({ response: answer }) : await route.abort()
    } catch (error) {
      const reason = REASONS.find(([words]) => words.test(error.message))?.[1] ?? 'reset'
      said ??= { reason, error: error.message.split('\n')[0] }
      return route.abort().catch(() => {})
    }
  }
  /** One after the other: a site is asked for one thing at a time. */
  let own = Promise.resolve()
  const ofOrigin = (route) => {
    own = own.then(async () => {
      const { status } =
        isOver || load ? {} : await service.call('POST', `${path}/requests`, { url: route.request().url() })
      if (status !== 201 || isOver) return route.abort()
      const answer = await send(route)
      if (answer.status() === 429 || answer.status() === 503)
        load = { status: answer.status(), retryAfter: answer.headers()['retry-after'] }
      return isRedirect(answer.status()) ? route.abort() : route.fulfill({ response: answer })
    })
    own = own.catch(() => route.abort().catch(() => {}))
    return own
  }
  const ofOther = async (route) => {
    const { permit } = await others.askOnce([route.request().url()], left())
    if (permit === undefined) return route.abort()
    if (isOver) return others.unused(permit).then(() => route.abort())
    const exchange = others.exchange(permit, () => context.close())
    try {
      const answer = await send(route)
      exchange.end(answer.status(), answer.headers())
      return isRedirect(answer.status()) ? await route.abort() : await route.fulfill({ response: answer })
    } catch (error) {
      exchange.end(undefined, {}, error)
      return route.abort().catch(() => {})
    }
  }

  try {
    await context.routeWebSocket(/./, (socket) => socket.close())
    const tab = await within(left(), context.newPage())
    let isFirst = true
    await context.route('**/*', (route) => {
      const request = route.request()
      const isDocument = request.isNavigationRequest() && request.frame().parentFrame() === null
      if (isDocument && isFirst) {
        isFirst = false
        return page(route)
      }
      if (isDocument) return route.fulfill({ status: 204 }) // to another page: that is no order, and this one stays
      const isForbidden = BLOCKED.has(request.resourceType()) || request.method() !== 'GET'
      if (isForbidden || isOver || ++requests > MOST_REQUESTS || !/^https?:/.test(request.url())) return route.abort()
      return new URL(request.url()).origin === new URL(order.url).origin
        ? ofOrigin(route)
        : ofOther(route).catch(() => {})
    })
    const loaded = await tab.goto(order.url, { waitUntil: 'load', timeout: left() }).then(
      () => true,
      () => false,
    )
    await tab.waitForLoadState('networkidle', { timeout: left() }).catch(() => {})
    if (said?.status !== undefined && !isRedirect(said.status) && said.bytes > 0 && !isOver) {
      const html = Buffer.from(await within(left() + CLOSE_MS, tab.content()))
      const truncated = html.length > order.maxBytes ? 'length' : loaded ? '' : 'time'
      Object.assign(said, { body: html.subarray(0, order.maxBytes).toString('base64'), truncated })
    } else if (said?.status !== undefined) said.bytes = 0
  } catch (error) {
    said ??= { reason: 'protocol', error: String(error.message).split('\n')[0] }
  } finally {
    isOver = true
    clearInterval(keeper)
    await within(CLOSE_MS, own).catch(() => {})
    await within(CLOSE_MS, context.close()).catch(() => {})
  }
  return said === undefined || load === undefined ? said : { ...said, load }
}
