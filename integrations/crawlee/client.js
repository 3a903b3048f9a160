/** The HTTP client of a crawler under permits: each redirect hop, and each `sendRequest` of a handler, has its own. */
import { GotScrapingHttpClient, NonRetryableError } from '@crawlee/core'

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
    return this.#send(request, { url: String(request.url) }, async (asked, exchange) => {
      const response = await super.sendRequest(asked)
      exchange.end(response.statusCode, response.headers)
      return response
    })
  }

  async stream(request, onRedirect) {
    const url = String(request.url)
    const entry = this.#turns?.entryOf(url) ?? { url, hops: 0, request: { userData: {} } }
    for (let asked = request; ;) {
      const response = await this.#send(asked, entry, async (permitted, exchange) => {
        const { stream, ...rest } = await super.stream(permitted, onRedirect)
        entry.stop = () => stream.destroy()
        stream.once('error', (error) => exchange.end(rest.statusCode, rest.headers, error))
        for (const end of ['end', 'close']) stream.once(end, () => exchange.end(rest.statusCode, rest.headers))
        return { stream, ...rest }
      })
      const { location } = response.headers
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode) && location !== undefined
      if (!isRedirect || request.followRedirect === false) return response
      await new Promise((resolve) => response.stream.once('end', resolve).once('error', resolve).resume())
      asked = { ...asked, headers: { ...asked.headers }, url: new URL(location, entry.url).href }
      onRedirect?.(response, asked)
      if (response.statusCode === 303 && asked.method !== 'HEAD') asked = { ...asked, method: 'GET', body: undefined }
      await this.#turns.follow(entry, asked.url)
    }
  }

  /** @param send  sends what it is given, and tells the exchange of its end */
  async #send(request, entry, send) {
    const { permit, problem } = await this.#permits.fresh(entry.url, entry.permit)
    if (problem !== undefined) throw new NonRetryableError(`${entry.url}: ${problem.detail ?? problem.type}`)
    const lost = new AbortController() // of got: also while the head of the answer is awaited
    const exchange = this.#permits.exchange(permit, (error) => lost.abort(error))
    return send(this.#underPermit(request, permit, entry.url, lost.signal), exchange).catch((error) => {
      exchange.end(undefined, {}, lost.signal.aborted ? undefined : error)
      throw lost.signal.aborted ? lost.signal.reason : error
    })
  }

  /** Under the name that robots.txt was judged for, without redirects and retries of the client's own. In shadow mode as it was. */
  #underPermit(request, { userAgent }, url, lost) {
    if (this.#permits.isShadow) return request
    const others = Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== 'user-agent')
    const headers = { ...Object.fromEntries(others), 'user-agent': userAgent }
    const signal = request.signal ? AbortSignal.any([request.signal, lost]) : lost
    return { ...request, url, headers, signal, followRedirect: false, retry: { limit: 0 }, useHeaderGenerator: false }
  }
}
