/** One exchange on the site's side: sends the scripted answer and records the exchange in one line. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestLine } from '@decorum/audit'
import type { Answer } from './behaviour.ts'

/** Above this, the kernel may not take a body at once: its tail is written only after its head has been sent. */
const AT_ONCE_BYTES = 32_768
const TAIL_BYTES = 1_024

/** ms since 1970 UTC on a clock that never steps: what every record of this process is written by. */
export const now = (): number => performance.timeOrigin + performance.now()

/** The last three instants at which the event loop ran. */
const pulse = { last: now(), before: now(), earlier: now() }
const PULSE_MS = 5

/**
 * Notes when the event loop runs, until the timer is cleared. Every socket event from before the last note but one has been
 * handled by now: that bounds how late the end of a connection is noticed, however busy the machine is.
 */
export function startPulse(): NodeJS.Timeout {
  return setInterval(() => {
    pulse.earlier = pulse.before
    pulse.before = pulse.last
    pulse.last = now()
  }, PULSE_MS)
}

/** A request that may have come so much earlier than it was heard was heard late, ms. */
const HEARD_LATE_MS = 25

/** Since when a request that is heard now may have waited: its connection was accepted first. Undefined when that is not long. */
export function waitingSince(): number | undefined {
  return now() - pulse.earlier > HEARD_LATE_MS ? pulse.earlier : undefined
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

export type Heard = {
  origin: string
  /** of the site, where it has several names */
  address?: string
  start: number
  /** it was heard late, and may have come from then on */
  since?: number
  request: IncomingMessage
  response: ServerResponse
}

/**
 * Answers, and calls `done` once with the record of it.
 * @param robots  the hash of the body, when it is one of rules
 */
export function serve(
  heard: Heard,
  answer: Answer,
  robots: string | undefined,
  done: (line: RequestLine) => void,
): void {
  const { request, response, start, since } = heard
  const status = answer.status ?? 200
  const timers: NodeJS.Timeout[] = []
  let finished = false
  const finish = (cut: boolean): void => {
    if (finished) return
    finished = true
    const end = now()
    done({
      kind: 'request',
      origin: heard.origin,
      agent: request.headers['user-agent'] ?? '',
      method: request.method ?? '',
      path: request.url ?? '',
      // Whoever has gone came before the site stood still, or while it did.
      ...(cut && since !== undefined ? { start: since, resolution: start - since } : { start }),
      end, // right before the last byte is written: a client cannot have it sooner
      status: response.headersSent || !cut ? status : 0,
      ...(heard.address === undefined ? {} : { address: heard.address }),
      ...(cut ? { cut, late: end - (since ?? pulse.before) } : {}),
      ...(answer.retryAfter === undefined ? {} : { retryAfter: answer.retryAfter }),
      ...(answer.location === undefined ? {} : { location: answer.location }),
      ...(robots === undefined || (cut && !response.headersSent) ? {} : { robots }),
    })
  }
  // 'close' without a finished answer: the client has gone.
  response.once('close', () => {
    for (const timer of timers) clearTimeout(timer)
    finish(true)
  })
  const later = (ms: number | undefined, act: () => void): void => {
    if (ms) timers.push(setTimeout(act, ms))
    else act()
  }
  const last = (octets: Buffer): void => {
    finish(false)
    response.end(octets)
  }

  if (answer.instead === 'never') return
  const begin = (): void => {
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
  }
  const answerIt = (): void => (finished ? undefined : later(answer.delayMs, begin))
  if (since === undefined) answerIt()
  else afterTurns(TURNS_OF_A_GOODBYE, answerIt)
}

/** Turns of the event loop until it is noticed that somebody has gone: the end is read, the socket is closed, and it is told. */
const TURNS_OF_A_GOODBYE = 4
function afterTurns(count: number, act: () => void): void {
  if (count === 0) act()
  else setImmediate(afterTurns, count - 1, act)
}
