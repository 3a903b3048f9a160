/** One exchange on the site's side: sends the scripted answer and records the exchange in one line. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestLine } from '@decorum/audit'
import { defined } from '@decorum/runtime/defined'
import type { Answer } from './behaviour.ts'
import { now } from './clock.ts'

/** The kernel may not accept a longer body at once, so its last bytes are written only after the rest has been sent. */
const AT_ONCE_BYTES = 32_768
const TAIL_BYTES = 1_024

/** The last two instants at which the event loop ran. */
const pulse = { last: now(), before: now() }
const PULSE_MS = 5

/** The last stall of the event loop: an instant before it began, and the number of pulses since it ended. */
const stall = { from: 0, pulses: Number.POSITIVE_INFINITY }
/** A longer pause of the event loop is a stall, ms: an agent may have given up meanwhile. */
const STALL_MS = 100
/**
 * After this many pulses, all requests and disconnections that arrived during a stall have been handled: a connection, its request and its
 * end take one round of the event loop each. Rounds are counted, not time, because on a busy machine few of them run in a second.
 */
const SETTLED_PULSES = 20
/** Time until the next check whether that many pulses have passed, ms. */
const CHECK_AGAIN_MS = SETTLED_PULSES * PULSE_MS

/**
 * Records when the event loop runs, until the timer is cleared. Every socket event from before the second-to-last pulse has been
 * handled by now, which bounds how late a disconnection is noticed on a busy machine.
 */
export function startPulse(): NodeJS.Timeout {
  return setInterval(() => {
    const at = now()
    stall.pulses++
    if (at - pulse.last > STALL_MS) Object.assign(stall, { from: pulse.before, pulses: 0 })
    pulse.before = pulse.last
    pulse.last = at
  }, PULSE_MS)
}

/** How much earlier a request that is handled now may have arrived, ms; 0 unless the event loop has just stalled. */
export function receivedLate(): number {
  const at = now()
  if (at - pulse.last > STALL_MS) return at - pulse.before
  return stall.pulses < SETTLED_PULSES ? at - stall.from : 0
}

const fillers = new Map<number, Buffer>()
function filler(bytes: number): Buffer {
  let body = fillers.get(bytes)
  if (body === undefined) {
    body = Buffer.alloc(bytes, 'All work and no play makes a crawler a dull guest.\n')
    fillers.set(bytes, body)
  }
  return body
}

export type Received = {
  origin: string
  /** the address of the site, if it has several names */
  address?: string
  /** the earliest instant at which the request may have arrived; `resolution`: how much later it may have been, ms */
  start: number
  resolution: number
  request: IncomingMessage
  response: ServerResponse
}

/**
 * Answers the request, and calls `done` once with the record of the exchange.
 * @param robots  hash of the body if it contains rules
 */
export function serve(
  received: Received,
  answer: Answer,
  robots: string | undefined,
  done: (line: RequestLine) => void,
): void {
  const { request, response } = received
  const status = answer.status ?? 200
  const timers: NodeJS.Timeout[] = []
  let finished = false
  const finish = (cut: boolean) => {
    if (finished) return
    finished = true
    const end = now()
    done({
      kind: 'request',
      origin: received.origin,
      agent: request.headers['user-agent'] ?? '',
      method: request.method ?? '',
      path: request.url ?? '',
      start: received.start,
      end, // right before the last byte is written, so no client can have received it earlier
      status: response.headersSent || !cut ? status : 0,
      ...defined({ address: received.address, retryAfter: answer.retryAfter, location: answer.location }),
      ...(received.resolution > 0 ? { resolution: received.resolution } : {}),
      ...(cut ? { cut, late: Math.max(end - pulse.before, receivedLate()) } : {}),
      ...(robots === undefined || (cut && !response.headersSent) ? {} : { robots }),
    })
  }
  // 'close' without a finished answer: the client has gone.
  response.once('close', () => {
    for (const timer of timers) clearTimeout(timer)
    finish(true)
  })
  const later = (ms: number | undefined, act: () => void) => {
    if (ms) timers.push(setTimeout(act, ms))
    else act()
  }
  const last = (input: Buffer) => {
    // If not delayed, a client that disconnected during a stall would count as answered.
    if (receivedLate() > 0) {
      later(CHECK_AGAIN_MS, () => last(input))
      return
    }
    // The event loop reads its sockets once more before the second setImmediate, so a client that disconnected during a stall is noticed:
    // the end of a connection is read one round after its request.
    setImmediate(() =>
      setImmediate(() => {
        if (finished || request.socket.readableEnded || request.socket.destroyed) return // 'close' follows and records it
        finish(false)
        response.end(input)
      }),
    )
  }

  if (answer.instead === 'never') return
  later(answer.delayMs, () => {
    if (answer.instead === 'reset') return void request.socket.resetAndDestroy()
    const body = answer.bytes === undefined ? Buffer.from(answer.body ?? '') : filler(answer.bytes)
    const headers: Record<string, string | number> = {
      'content-type': answer.type ?? (request.url === '/robots.txt' ? 'text/plain' : 'text/html'),
      'content-length': body.length,
      ...answer.headers,
    }
    if (answer.retryAfter !== undefined) headers['retry-after'] = answer.retryAfter
    if (answer.location !== undefined) headers.location = answer.location
    if (status === 304 || status === 204) delete headers['content-length']
    if (finished) return
    response.writeHead(status, headers)
    if (answer.dribbleMs !== undefined && body.length > 1) {
      const half = body.length >> 1
      response.write(body.subarray(0, half))
      later(answer.dribbleMs, () => last(body.subarray(half)))
    } else if (body.length > AT_ONCE_BYTES) {
      response.write(body.subarray(0, -TAIL_BYTES), (error) => {
        if (!error) last(body.subarray(-TAIL_BYTES))
      })
    } else last(body)
  })
}
