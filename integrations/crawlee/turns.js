/** A RequestQueue that hands out a request when it has a permit: what waits holds no slot and uses up no retry. */
import { CriticalError } from '@crawlee/core'
import { targetOf } from './client.js'

const LINE_MS = 3_000 // how long one question waits in line
const SHORT_LINE_MS = 250 // the same when other origins cannot be asked about meanwhile
const EACH_ORIGIN = 4 // URLs of an origin in one question: where the first is forbidden, the second may go
const MOST_ORIGINS = 25 // in one question: 100 URLs are allowed
const MOST_QUESTIONS = 32 // at once
const MOST_WAITING = 5_000 // requests taken out of the queue
const LOOK_MS = 100 // how often the queue is looked at for more

export class Turns {
  #permits
  #waiting = new Map() // origin → its requests; the origin that was asked about last comes last
  #asked = new Set() // origins that a question is out for
  #since = new WeakMap() // request → when it began to wait
  #patienceMs
  #questions = 0
  #granted = [] // { request, permit }, for the next free slot
  #running = new Map() // request id → the same, handed out
  #lookAt = 0
  #prolongAt = 0
  #pool
  #refuse

  constructor(queue, permits, { onRefused = () => {}, patienceMs = 600_000 }) {
    this.#permits = permits
    this.#patienceMs = patienceMs
    const names = ['fetchNextRequest', 'isEmpty', 'isFinished', 'markRequestHandled', 'reclaimRequest']
    const [next, isEmpty, isFinished, handled, reclaim] = names.map((name) => queue[name].bind(queue))
    this.#refuse = async (request, problem) => {
      await handled(request)
      await Promise.resolve(onRefused(request, problem))
    }
    this.queue = Object.assign(queue, {
      // The pool asks this when it has a free slot, so this is also when permits are asked for.
      isEmpty: async () => {
        await this.#take(next)
        this.#ask()
        return this.#granted.length === 0
      },
      isFinished: async () => {
        const isBusy = this.#waiting.size + this.#asked.size + this.#granted.length + this.#running.size > 0
        return !isBusy && this.#permits.isQuiet() && (await isEmpty()) && isFinished()
      },
      fetchNextRequest: async () => {
        const entry = this.#granted.shift()
        if (entry === undefined) return null
        clearTimeout(entry.timer)
        this.#running.set(entry.request.id, entry)
        await this.#prolong(entry.request)
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
        this.#lookAt = 0
        return reclaim(request, options)
      },
    })
  }

  /** @throws Error for a browser: what it sends besides the page itself would have no permit */
  wakes(crawler, page) {
    if (page !== undefined) throw new CriticalError('the option of Decorum is for HTTP crawlers, not for browsers')
    this.#pool = crawler.autoscaledPool
  }

  /** What was handed out under this URL, once. */
  entryOf(url) {
    const entry = [...this.#running.values()].find((one) => !one.isUsed && one.request.url === url)
    if (entry !== undefined) entry.isUsed = true
    return entry
  }

  async #take(next) {
    const now = performance.now()
    const all = [...this.#waiting.values()].flat()
    if (now > this.#prolongAt) {
      this.#prolongAt = now + (this.queue.requestLockSecs * 1_000) / 3
      await Promise.all(all.map((request) => this.#prolong(request)))
    }
    if (now < this.#lookAt) return
    for (let room = MOST_WAITING - all.length; room > 0; room--) {
      const request = await next()
      if (request === null) {
        this.#lookAt = now + LOOK_MS
        return
      }
      this.#wait(request)
    }
  }

  /** Its lock ends before its turn may come. */
  #prolong = ({ id }) =>
    this.queue.client.prolongRequestLock(id, { lockSecs: this.queue.requestLockSecs }).catch(() => undefined)

  #wait(request) {
    const { origin } = new URL(targetOf(request))
    if (!this.#since.has(request)) this.#since.set(request, performance.now())
    this.#waiting.set(origin, [...(this.#waiting.get(origin) ?? []), request])
  }

  /** One question for each free slot, so that every permit finds one; each about its share of the origins. */
  #ask() {
    const idle = [...this.#waiting.keys()].filter((origin) => !this.#asked.has(origin))
    const slots = this.#pool === undefined ? 1 : this.#pool.desiredConcurrency - this.#pool.currentConcurrency
    const free = Math.min(MOST_QUESTIONS, slots) - this.#granted.length - this.#questions
    const size = Math.min(MOST_ORIGINS, Math.ceil(idle.length / Math.max(1, free)))
    const lineMs = free * size < idle.length ? SHORT_LINE_MS : LINE_MS
    for (let n = 0; n < free && n * size < idle.length; n++)
      void this.#question(idle.slice(n * size, (n + 1) * size), lineMs)
  }

  async #question(origins, lineMs) {
    this.#questions++
    for (const origin of origins) this.#asked.add(origin)
    const requests = origins.flatMap((origin) => this.#waiting.get(origin).slice(0, EACH_ORIGIN))
    try {
      const { permit, index, refused, pauseMs } = await this.#permits.askOnce(requests.map(targetOf), lineMs)
      if (permit !== undefined) this.#grant(requests[index], permit)
      const never = refused.map(({ index: at, ...problem }) => [requests[at], problem])
      for (const [request, problem] of [...never, ...this.#tooLate(origins, never)]) {
        this.#leave(request)
        await this.#refuse(request, problem)
      }
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    } finally {
      this.#questions--
      for (const origin of origins) {
        this.#asked.delete(origin)
        const others = this.#waiting.get(origin)
        if (this.#waiting.delete(origin)) this.#waiting.set(origin, others) // those that were asked come last
      }
      this.#pool?.notify()
    }
  }

  /** What has waited too long. */
  #tooLate(origins, never) {
    const problem = { type: 'patience', detail: `no turn within ${this.#patienceMs} ms` }
    const dueBefore = performance.now() - this.#patienceMs
    return origins
      .flatMap((origin) => this.#waiting.get(origin) ?? [])
      .filter((request) => this.#since.get(request) < dueBefore && !never.some(([one]) => one === request))
      .map((request) => [request, problem])
  }

  #grant(request, permit) {
    this.#leave(request)
    const entry = { request, permit }
    // No slot became free in time: nothing was sent, and the request asks again.
    entry.timer = setTimeout(() => {
      this.#granted = this.#granted.filter((one) => one !== entry)
      this.#permits.unused(permit)
      this.#wait(request)
    }, permit.sendWithinMs / 2)
    this.#granted.push(entry)
  }

  #leave(request) {
    const { origin } = new URL(targetOf(request))
    const others = this.#waiting.get(origin).filter((one) => one !== request)
    if (others.length === 0) this.#waiting.delete(origin)
    else this.#waiting.set(origin, others)
  }

  #end({ id }) {
    const entry = this.#running.get(id)
    this.#running.delete(id)
    if (entry?.isUsed)
      entry.stop?.() // its answer may not have been read to the end
    else if (entry !== undefined) this.#permits.unused(entry.permit)
    return entry
  }
}
