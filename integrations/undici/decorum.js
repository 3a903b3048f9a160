/**
 * An undici interceptor: no request leaves without a permit of Decorum. Compose it first, so that it is the innermost:
 * `new Agent().compose(decorum({ url }), interceptors.redirect(), interceptors.retry())`. Each hop and each retry then asks
 * for itself.
 */
import { Dispatcher1Wrapper } from 'undici'
import { LostError, openPermits } from './permits.js'

export { LostError }

/** robots.txt or an operator forbids the URL: asking again will not help. `code` is a string, `problem` the whole answer. */
export class RefusedError extends Error {
  name = 'RefusedError'
  code = 'ERR_DECORUM_REFUSED'
  constructor(problem) {
    super(`${problem.url ?? 'the URL'}: ${problem.detail ?? problem.type}`)
    this.problem = problem
  }
}

/**
 * @param options.url         of the permits service; http://127.0.0.1:7071
 * @param options.agent       one of DECORUM_AGENTS; absent: the first
 * @param options.token       where the service asks for one
 * @param options.patienceMs  how long a request waits for its turn; 600,000
 * @param options.shadow      nothing waits and nothing is changed: the service records what would have waited
 */
export function decorum({ url = 'http://127.0.0.1:7071', agent, token, patienceMs = 600_000, shadow = false } = {}) {
  const permits = openPermits({ url, agent, token, patienceMs, shadow })
  return (dispatch) => (options, given) => {
    if (options.method === 'CONNECT') return dispatch(options, given)
    const handler = Dispatcher1Wrapper.wrapHandler(given) // the fetch of Node 24 still speaks in undici's older way
    const send = async () => {
      const target = new URL(options.path, options.origin).href
      const asked = await permits.ask(target)
      if (asked.problem) throw new RefusedError({ url: target, ...asked.problem })
      const { permit } = asked
      const headers = shadow ? options.headers : withUserAgent(options.headers, permit.userAgent)
      const exchange = permits.exchange(permit, (error) => permitted.stop(error))
      const permitted = new Permitted(permit, exchange, handler, () => send().catch(refuse))
      try {
        dispatch({ ...options, headers }, permitted)
      } catch (error) {
        exchange.unused()
        throw error
      }
    }
    const refuse = (error) => handler.onResponseError?.(null, error)
    send().catch(refuse)
    return true
  }
}

/** Tells Decorum when the exchange has ended, and everything else to whoever asked for it. */
class Permitted {
  #permit
  #exchange
  #handler
  #again
  #controller
  #status
  #headers
  #tooLate = false

  constructor(permit, exchange, handler, again) {
    this.#permit = permit
    this.#exchange = exchange
    this.#handler = handler
    this.#again = again
  }

  /** undici closes the connection, or the stream of HTTP/2. */
  stop(error) {
    this.#controller?.abort(error)
  }

  onRequestStart(controller, context) {
    this.#controller = controller
    // Connecting took longer than the permit is good for: nothing has been sent, and nothing is.
    if (performance.now() - this.#permit.at > this.#permit.sendWithinMs) {
      this.#tooLate = true
      return controller.abort(new Error('connecting took longer than the permit allows'))
    }
    this.#handler.onRequestStart?.(controller, context)
    if (controller.aborted) this.#exchange.unused()
  }

  onRequestUpgrade(controller, status, headers, socket) {
    this.#exchange.end(status, headers)
    this.#handler.onRequestUpgrade?.(controller, status, headers, socket)
  }

  onResponseStart(controller, status, headers, message) {
    if (status >= 200) [this.#status, this.#headers] = [status, headers]
    this.#handler.onResponseStart?.(controller, status, headers, message)
  }

  onResponseData(controller, chunk) {
    this.#handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(controller, trailers) {
    this.#exchange.end(this.#status, this.#headers)
    this.#handler.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller, error) {
    if (this.#tooLate) {
      this.#exchange.unused()
      return this.#again()
    }
    // What the caller has given up says nothing of the site.
    const isOurs = error?.code === 'UND_ERR_ABORTED' || error?.name === 'AbortError' || error instanceof LostError
    this.#exchange.end(this.#status, this.#headers, isOurs ? undefined : error)
    this.#handler.onResponseError?.(controller, error)
  }
}

/** What robots.txt was judged for is what the request calls itself. */
function withUserAgent(headers, userAgent) {
  const flat = Array.isArray(headers)
    ? headers
    : [...(headers?.[Symbol.iterator] ? headers : Object.entries(headers ?? {}))].flat()
  const kept = []
  for (let at = 0; at < flat.length; at += 2)
    if (String(flat[at]).toLowerCase() !== 'user-agent') kept.push(flat[at], flat[at + 1])
  return [...kept, 'user-agent', userAgent]
}
