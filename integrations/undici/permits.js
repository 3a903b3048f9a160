/** The permits API for programs of Node: no dependency, its own connections, nothing goes through the crawler's dispatcher. */
import http from 'node:http'
import https from 'node:https'

const WAIT_MS = 30_000
const AGAIN_MS = 1_000
const SHADOW_MS = 1_000 // in shadow mode a service that is slow or away holds nobody up
const AGAIN_SHARE = 10 // an extension that failed is tried again after this share of the lease, at the latest after AGAIN_MS
const UNSEEN = { sendWithinMs: Infinity, leaseMs: Infinity }

/** The permit is not held any more, or an extension was not answered until the lease was over: the connection was closed. */
export class LostError extends Error {
  name = 'LostError'
  code = 'ERR_DECORUM_LOST'
}

/** What is no JSON, such as the page of a proxy in between, is not from the service. */
function read(answer) {
  try {
    return JSON.parse(answer)
  } catch {
    return {}
  }
}

/** @param options  url, agent, token, patienceMs, shadow, and waitMs: how long one question waits in line */
export function openPermits({ url, agent, token, patienceMs = 600_000, waitMs = WAIT_MS, shadow = false }) {
  const base = new URL(url)
  const client = base.protocol === 'https:' ? https : http
  const pool = new client.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const timeout = shadow ? { timeout: SHADOW_MS } : {}
  let telling = 0
  const call = (method, path, body, timeoutMs) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const headers = {
        ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      }
      const options = { method, headers, agent: pool, ...timeout, ...(timeoutMs && { timeout: timeoutMs }) }
      const request = client.request(new URL(path, base), options, (response) => {
        let answer = ''
        response.setEncoding('utf8').on('data', (part) => (answer += part))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode, body: read(answer) }))
      })
      request.on('timeout', () => request.destroy(new Error('the permits service did not answer')))
      request.on('error', reject)
      request.end(text)
    })
  const quietly = (work) => work.catch(() => ({ status: 0, body: {} })) // what is not told ends by itself
  /** What is not answered within a lease is of no use. */
  const tell = async (method, { permit, leaseMs }, path = '', body, timeoutMs = leaseMs) => {
    if (permit === undefined) return { status: 0, body: {} }
    telling++
    const isLimited = Number.isFinite(timeoutMs)
    const work = call(method, `/v1/permits/${permit}${path}`, body, isLimited ? Math.ceil(timeoutMs) : undefined)
    return quietly(work).finally(() => telling--)
  }
  const held = (body) => ({ ...body, at: performance.now() })
  /** Nothing waits: the service records what would have. */
  const shadowed = async (target) => {
    const { status, body } = await quietly(call('POST', '/v1/permits', { url: target, agent, shadow }))
    return { permit: status === 201 ? { ...held(body), ...UNSEEN } : { ...UNSEEN } }
  }
  const complete = (permit, said) => tell('POST', permit, '/completion', said)
  const self = {
    /**
     * One URL, or the first of several that may go.
     * @param isWanted  asked between questions: whether anybody still waits for the answer
     * @returns { permit } or { problem }: this URL will never be granted
     */
    async ask(target, isWanted = () => true) {
      if (shadow) return shadowed(target)
      const wish = Array.isArray(target) ? { urls: target } : { url: target }
      const until = performance.now() + patienceMs
      while (isWanted()) {
        const leftMs = Math.max(0, Math.floor(until - performance.now()))
        const { status, body } = await quietly(
          call('POST', '/v1/permits', { ...wish, agent, waitMs: Math.min(waitMs, leftMs) }),
        )
        if (status === 201) return { permit: held(body) }
        const mayCome = status === 200 || status === 0 || status === 429 || status >= 500
        if (!mayCome) return { problem: body }
        if (leftMs === 0) return { problem: { type: 'patience', detail: `no turn within ${patienceMs} ms`, ...body } }
        const pauseMs = status === 200 ? (body.retryAfterMs ?? AGAIN_MS) : AGAIN_MS
        await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, leftMs, 5_000)))
      }
      return { problem: { type: 'unwanted', detail: 'nobody waits for it any more' } }
    },
    /**
     * Leave to send the first byte now: under this permit, or, where there is none or it has aged, under a new one.
     * @returns as `ask`
     */
    async fresh(target, permit, isWanted) {
      for (let asked = { permit }; ; asked = await self.ask(target, isWanted)) {
        if (asked.problem !== undefined) return asked
        const isLate = asked.permit && performance.now() - asked.permit.at > asked.permit.sendWithinMs
        if (asked.permit && !isLate) return asked
        if (isLate) await tell('DELETE', asked.permit)
      }
    },
    /**
     * One question about several URLs, in line for at most so long.
     * @returns refused: [{ index, type, detail … }] will never be granted; permit: for the URL number `index`; pauseMs: until the
     *          next question is of use
     */
    async askOnce(targets, lineMs) {
      if (shadow) return { ...(await shadowed(targets[0])), index: 0, refused: [], pauseMs: 0 }
      const { status, body } = await quietly(call('POST', '/v1/permits', { urls: targets, agent, waitMs: lineMs }))
      if (status === 200 || status === 201) {
        const { index, refused = [] } = body
        return { ...(status === 201 ? { permit: held(body), index } : {}), refused, pauseMs: 0 }
      }
      const isFinal = status === 400 || status === 403 || status === 409
      if (isFinal) return { refused: body.refused ?? targets.map((_, index) => ({ ...body, index })), pauseMs: 0 }
      return { refused: [], pauseMs: AGAIN_MS }
    },
    /**
     * An exchange under a permit: extended while it lasts, and ended once, by the first word of its end.
     * @param lost  called at most once, with a LostError: the extension is refused, or was not answered until the lease was over, and
     *              the connection has to be closed
     */
    exchange(permit, lost) {
      let isEnded = false
      let isLost = false
      let next
      let over
      const lose = (why) => {
        if (isEnded || isLost) return
        isLost = true
        clearTimeout(next)
        clearTimeout(over)
        lost(new LostError(why))
      }
      const extend = async () => {
        const sentAt = performance.now()
        const { status, body } = await tell('PATCH', permit, '', {}, permit.leaseMs / 3)
        if (isEnded || isLost) return
        if (status === 200 && body.stop === undefined) return holdUntil(sentAt + (body.leaseMs ?? permit.leaseMs))
        if (status === 200 || (status >= 400 && status < 500 && status !== 429))
          return lose(body.stop === undefined ? 'the permit is not held any more' : 'the request is to be ended')
        next = setTimeout(() => void extend(), Math.min(AGAIN_MS, permit.leaseMs / AGAIN_SHARE)).unref()
      }
      /** A lease counts from the question, since the answer may have lain unread. */
      const holdUntil = (until) => {
        clearTimeout(over)
        const leftMs = until - performance.now()
        next = setTimeout(() => void extend(), leftMs / 3).unref()
        over = setTimeout(() => lose('the permit could not be extended in time'), leftMs).unref()
      }
      if (!shadow) holdUntil(permit.at + permit.leaseMs)
      const once = (work) => {
        if (isEnded) return
        isEnded = true
        clearTimeout(next)
        clearTimeout(over)
        void work()
      }
      return {
        end(status, headers = {}, error) {
          const retryAfter = [headers['retry-after']].flat()[0]
          const said = { status, retryAfter, ...(error === undefined ? {} : { error: String(error.message ?? error) }) }
          once(() => complete(permit, said))
        },
        unused: () => once(() => tell('DELETE', permit)),
      }
    },
    unused: (permit) => tell('DELETE', permit),
    /** any other request to the service; status 0: it did not answer */
    call: (method, path, body, timeoutMs) => quietly(call(method, path, body, timeoutMs)),
    isShadow: shadow,
    /** Has every end been told? */
    isQuiet: () => telling === 0,
    close: () => pool.destroy(),
  }
  return self
}
