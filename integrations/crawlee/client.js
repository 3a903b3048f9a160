/** The HTTP client of a crawler under permits: each redirect hop, and each `sendRequest` of a handler, has its own. */
import { GotScrapingHttpClient, NonRetryableError, RetryRequestError } from '@crawlee/core'

const HOP_MS = 2_000 // how long a redirect waits in its slot; then the request goes back to the queue
const MOST_HOPS = 10

/** Where a request goes next: a redirect that had to wait for its turn is remembered in it. */
export const targetOf = (request) => request.userData.decorumRedirect?.url ?? request.url

export class PermittedClient extends GotScrapingHttpClient {
  #permits
  #turns

  constructor(permits, turns) {
    super()
    this.#permits = permits
    this.#turns = turns
  }

  /** Waits for its turn in the slot of the handler that sends it. A redirect is its answer. */
  async sendRequest(request) {
    const permit = await this.#permitFor(String(request.url))
    const exchange = this.#permits.exchange(permit)
    try {
      const response = await super.sendRequest(this.#underPermit(request, permit, request.url))
      exchange.end(response.statusCode, response.headers)
      return response
    } catch (error) {
      exchange.end(undefined, {}, error)
      throw error
    }
  }

  async stream(request, onRedirect) {
    const entry = this.#turns?.entryOf(String(request.url))
    let { url, hops = 0 } = entry?.request.userData.decorumRedirect ?? { url: String(request.url) }
    let permit = entry?.permit ?? (await this.#permitFor(url))
    let asked = request
    for (;;) {
      const response = await this.#exchange(asked, url, permit, entry, onRedirect)
      const { location } = response.headers
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode) && location !== undefined
      if (!isRedirect || request.followRedirect === false) return response
      await new Promise((resolve) => response.stream.once('end', resolve).once('error', resolve).resume())
      url = new URL(location, url).href
      if (++hops > MOST_HOPS) throw new NonRetryableError(`more than ${MOST_HOPS} redirects`)
      asked = { ...asked, headers: { ...asked.headers }, url }
      onRedirect?.(response, asked)
      if (response.statusCode === 303 && asked.method !== 'HEAD') asked = { ...asked, method: 'GET', body: undefined }
      const hop = await this.#permits.askOnce([url], HOP_MS)
      if (hop.refused.length > 0) throw new NonRetryableError(`${url}: ${hop.refused[0].detail}`)
      permit = hop.permit
      if (permit !== undefined) continue
      if (entry === undefined) permit = await this.#permitFor(url)
      else {
        entry.isRedirect = true
        entry.request.userData.decorumRedirect = { url, hops }
        throw new RetryRequestError(`redirected to ${url}, which is not due yet`)
      }
    }
  }

  async #exchange(request, url, permit, entry, onRedirect) {
    const isLate = performance.now() - permit.at > permit.sendWithinMs
    if (isLate) this.#permits.unused(permit)
    const good = isLate ? await this.#permitFor(url) : permit
    const exchange = this.#permits.exchange(good, () => entry?.stop?.())
    try {
      const response = await super.stream(this.#underPermit(request, good, url), onRedirect)
      const { statusCode, headers, stream } = response
      if (entry !== undefined) entry.stop = () => stream.destroy()
      stream.once('error', (error) => exchange.end(statusCode, headers, error))
      stream.once('close', () => exchange.end(statusCode, headers))
      stream.once('end', () => exchange.end(statusCode, headers))
      return response
    } catch (error) {
      exchange.end(undefined, {}, error)
      throw error
    }
  }

  async #permitFor(url) {
    const { permit, problem } = await this.#permits.ask(url)
    if (problem !== undefined) throw new NonRetryableError(`${url}: ${problem.detail ?? problem.type}`)
    return permit
  }

  /** Under the name that robots.txt was judged for, without redirects and retries of the client's own. In shadow mode as it was. */
  #underPermit(request, { userAgent }, url) {
    if (this.#permits.isShadow) return request
    const others = Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== 'user-agent')
    const headers = { ...Object.fromEntries(others), 'user-agent': userAgent }
    return { ...request, url, headers, followRedirect: false, retry: { limit: 0 }, useHeaderGenerator: false }
  }
}
