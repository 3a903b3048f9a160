/** A RequestQueue that hands out a request when it has a permit: what waits holds no slot and uses up no retry. */
import { NonRetryableError, RetryRequestError } from '@crawlee/core'

const LINE_MS = 3_000 // how long one question waits in line
const SHORT_LINE_MS = 250 // the same when other origins cannot be asked about meanwhile
const EACH_ORIGIN = 4 // URLs of an origin in one question: where the first is forbidden, the second may go
const MOST_ORIGINS = 25 // in one question: 100 URLs are allowed
const MOST_WAITING = 5_000 // requests taken out of the queue
const LOOK_MS = 100 // how often the queue is looked at for more
const HOP_MS = 2_000 // how long a redirect waits in its slot; then the request goes back to the queue
const MOST_HOPS = 10

export class Turns {
  #permits
  #patienceMs
  #lanes = new Map() // origin → its entries, which wait; the origin that was asked about last comes last
  #asked = new Set() // origins that a question is out for
  #questions = 0
  #granted = new Set() // entries for the next free slots
  #running = new Map() // request id → its entry
  #pool

  constructor(queue, permits, { onRefused = () => {}, patienceMs = 600_000 }) {
    this.#permits = permits
    this.#patienceMs = patienceMs
    const names = ['fetchNextRequest', 'isEmpty', 'isFinished', 'markRequestHandled', 'reclaimRequest']
    const [next, isEmpty, isFinished, handled, reclaim] = names.map((name) => queue[name].bind(queue))
    let lockSecs = 60
    // A request is locked while it waits and while it is handled; Crawlee, which sets this, thinks of the second alone.
    const lock = { get: () => lockSecs + patienceMs / 1_000, set: (secs) => (lockSecs = secs) }
    Object.defineProperty(queue, 'requestLockSecs', lock)
    const at = ({ url, userData }) => ({ url, hops: 0, ...userData.decorumRedirect })
    let lookAt = 0
    const take = async () => {
      const waiting = [...this.#lanes.values()].reduce((sum, lane) => sum + lane.size, 0)
      for (let room = MOST_WAITING - waiting; room > 0 && performance.now() >= lookAt; room--) {
        const request = await next()
        if (request === null) lookAt = performance.now() + LOOK_MS
        else this.#wait({ request, until: performance.now() + patienceMs, ...at(request) })
      }
    }
    const refuse = async ({ request }, problem) => {
      await handled(request)
      await Promise.resolve(onRefused(request, problem))
    }
    this.queue = Object.assign(queue, {
      // The pool asks this when it has a free slot, so this is also when permits are asked for.
      isEmpty: async () => {
        await take()
        this.#ask(refuse)
        return this.#granted.size === 0
      },
      isFinished: async () => {
        const isBusy = this.#lanes.size + this.#questions + this.#granted.size + this.#running.size > 0
        return !isBusy && permits.isQuiet() && (await isEmpty()) && isFinished()
      },
      fetchNextRequest: async () => {
        const [entry] = this.#granted
        if (entry === undefined) return null
        clearTimeout(entry.timer)
        this.#granted.delete(entry)
        this.#running.set(entry.request.id, entry)
        return entry.request
      },
      markRequestHandled: (request) => {
        this.#end(request)
        return handled(request)
      },
      reclaimRequest: (request, options) => {
        // A redirect that waits for its turn is no failure, but Crawlee has no other way to put a request back.
        if (this.#end(request)?.isRedirect) {
          request.retryCount--
          request.errorMessages.pop()
        }
        lookAt = 0
        return reclaim(request, options)
      },
    })
  }

  /** The pool of this crawler is told of permits, and asks for as many as it has free slots. */
  wakes = ({ autoscaledPool }) => (this.#pool = autoscaledPool)

  /** What was handed out under this URL, once. */
  entryOf(url) {
    const entry = [...this.#running.values()].find((one) => !one.isUsed && one.request.url === url)
    return entry && Object.assign(entry, { isUsed: true })
  }

  entryFor = ({ id }) => this.#running.get(id)

  /** Continues an entry at the URL that it was redirected to, or puts it back into the queue until that is due. */
  async follow(entry, url) {
    const hops = entry.hops + 1
    if (hops > MOST_HOPS) throw new NonRetryableError(`more than ${MOST_HOPS} redirects`)
    const { permit, refused } = await this.#permits.askOnce([url], HOP_MS)
    if (refused.length > 0) throw new NonRetryableError(`${url}: ${refused[0].detail}`)
    if (permit === undefined) {
      entry.request.userData.decorumRedirect = { url, hops }
      entry.isRedirect = true
      throw new RetryRequestError(`redirected to ${url}, which is not due yet`)
    }
    Object.assign(entry, { url, hops, permit })
  }

  #wait(entry) {
    const { origin } = new URL(entry.url)
    this.#lanes.set(origin, (this.#lanes.get(origin) ?? new Set()).add(entry))
  }

  /** One question for each free slot, so that every permit finds one; each about its share of the origins. */
  #ask(refuse) {
    const idle = [...this.#lanes.keys()].filter((origin) => !this.#asked.has(origin))
    const slots = this.#pool === undefined ? 1 : this.#pool.desiredConcurrency - this.#pool.currentConcurrency
    const free = slots - this.#granted.size - this.#questions
    const size = Math.min(MOST_ORIGINS, Math.ceil(idle.length / Math.max(1, free)))
    const lineMs = free * size < idle.length ? SHORT_LINE_MS : LINE_MS
    for (let n = 0; n < free && n * size < idle.length; n++)
      void this.#question(idle.slice(n * size, (n + 1) * size), lineMs, refuse)
  }

  async #question(origins, lineMs, refuse) {
    this.#questions++
    const lanes = origins.map((origin) => [origin, this.#lanes.get(origin)])
    for (const origin of origins) this.#asked.add(origin)
    const entries = lanes.flatMap(([, lane]) => [...lane].slice(0, EACH_ORIGIN))
    const urls = entries.map(({ url }) => url)
    const { permit, index: first, refused, pauseMs } = await this.#permits.askOnce(urls, lineMs)
    const never = new Map(refused.map(({ index, ...problem }) => [entries[index], problem]))
    for (const [origin, lane] of lanes) {
      for (const entry of lane) {
        if (entry === entries[first]) this.#grant(entry, permit)
        else if (entry.until < performance.now() && !never.has(entry))
          never.set(entry, { type: 'patience', detail: `no turn within ${this.#patienceMs} ms` })
        else if (!never.has(entry)) continue
        lane.delete(entry)
      }
      this.#lanes.delete(origin)
      if (lane.size > 0) this.#lanes.set(origin, lane)
    }
    for (const [entry, problem] of never) await refuse(entry, problem)
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    for (const origin of origins) this.#asked.delete(origin)
    this.#questions--
    this.#pool?.notify()
  }

  #grant(entry, permit) {
    entry.permit = permit
    // No slot became free in time: nothing was sent, and the request asks again.
    entry.timer = setTimeout(() => {
      this.#granted.delete(entry)
      this.#permits.unused(permit)
      this.#wait(entry)
    }, permit.sendWithinMs / 2)
    this.#granted.add(entry)
  }

  #end({ id }) {
    const entry = this.#running.get(id)
    this.#running.delete(id)
    if (entry?.isUsed) entry.stop?.() // its answer may not have been read to the end
    else if (entry !== undefined) this.#permits.unused(entry.permit)
    return entry
  }
}
