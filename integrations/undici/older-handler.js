/** The fetch that Node brings along speaks to dispatchers in undici's older way; this one turns it into today's. */
export const inTodaysWay = (handler) =>
  typeof handler.onRequestStart === 'function' ? handler : new OlderHandler(handler)

class OlderHandler {
  #handler

  constructor(handler) {
    this.#handler = handler
  }

  onRequestStart(controller, context) {
    this.#handler.onConnect?.((reason) => controller.abort(reason), context)
  }

  onRequestUpgrade(_controller, status, headers, socket) {
    this.#handler.onUpgrade?.(status, rawOf(headers), socket)
  }

  onResponseStart(controller, status, headers, message) {
    const goOn = this.#handler.onHeaders?.(status, rawOf(headers), () => controller.resume(), message)
    if (goOn === false) controller.pause()
  }

  onResponseData(controller, chunk) {
    if (this.#handler.onData?.(chunk) === false) controller.pause()
  }

  onResponseEnd(_controller, trailers) {
    this.#handler.onComplete?.(rawOf(trailers))
  }

  onResponseError(_controller, error) {
    this.#handler.onError?.(error)
  }
}

const rawOf = (headers) =>
  Object.entries(headers ?? {}).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => [Buffer.from(name), Buffer.from(value, 'latin1')]),
  )
