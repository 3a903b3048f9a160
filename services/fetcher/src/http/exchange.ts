/**
 * ⑤ One request and its answer through undici: never a retry, never a redirect. One deadline covers look-up, connect,
 * TLS, headers and body, and ends the socket in whatever phase it hangs. A permit that has grown old meanwhile is asked
 * for again before the connection is used (`confirm`), and checked once more in `onRequestStart`, the tick in which the
 * bytes leave: a process that slept since then sends nothing.
 */
import { crashPoint, crashPointSoon } from '@decorum/runtime'
import type { Dispatcher } from 'undici'
import { FRAMING_FACTOR, FRAMING_FREE_BYTES, MAX_INFORMATIONAL, OWN_STALL_MS, SEND_WINDOW_MS } from '../limits.ts'
import type { Confirm } from '../orders/lease.ts'
import { Body } from './body.ts'
import type { Connection, Phase, Way } from './connections.ts'

export type Ask = {
  way: Way
  origin: string
  path: string
  /** name, value, name, value …; host and connection are undici's */
  headers: string[]
  /** from now to the last byte */
  deadlineMs: number
  /** octets of the body on the wire; one more and it is cut */
  maxBytes: number
  /** why the permit no longer holds, or undefined; asked in the tick in which the bytes leave */
  lastCheck: () => string | undefined
  /** asks for the permit again where it has grown old while there was no connection yet */
  confirm: Confirm
  /** keep the body for somebody who reads it, by its headers; otherwise it is only counted and digested */
  keepBody: (headers: [string, string][]) => boolean
}

/** Lengths in ms, each of its own phase; absent when the phase did not take place (kept connection, IP literal). */
export type Timing = { dnsMs?: number; connectMs?: number; tlsMs?: number; firstByteMs?: number; totalMs: number }

type Common = {
  /** ms since 1970 UTC, of this machine's clock */
  startedAt: number
  /** the last byte or the failure, on `performance.now()` */
  endedAt: number
  timing: Timing
  /** the peer's address, '' when there was no connection */
  address: string
}

export type Truncated = false | 'length' | 'time' | 'disconnect'

export type Answer = Common & {
  kind: 'answered'
  status: number
  statusText: string
  /** as received: order, case, repeats; octets as Latin-1 */
  headers: [string, string][]
  body: Body
  truncated: Truncated
  /** e.g. `TLSv1.3`; absent over plain TCP */
  tls?: string
}

export type NoAnswer = Common & { kind: 'unanswered'; error: Error /** how far it got */; phase: Phase | 'sent' }
/** Nothing left this machine, by our own fault: it says nothing about the site. */
export type NotSent = Common & { kind: 'not-sent'; why: string }
export type Exchange = Answer | NoAnswer | NotSent

/** The total deadline passed, in the phase named. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
  readonly code = 'ERR_DEADLINE'
  constructor(phase: Phase | 'sent', ms: number) {
    super(`no ${WAITING_FOR[phase]} within ${Math.round(ms)} ms`)
  }
}
const WAITING_FOR = {
  dns: 'look-up',
  connect: 'connection',
  tls: 'TLS handshake',
  open: 'answer',
  sent: 'answer',
} as const

/** The permit ran out before the bytes could leave. */
class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

/** Runs one exchange; never rejects, whatever the other side does. */
export function exchange(ask: Ask): Promise<Exchange> {
  return new Promise((resolve) => {
    const visit = new Visit(ask, resolve)
    if (ask.deadlineMs <= 0) return visit.outOfTime()
    const asking = visit.beforeUse()
    if (asking === undefined) visit.dispatch()
    else void asking.then((refused) => refused === undefined && visit.dispatch())
    visit.watch()
  })
}

/** undici's handler and the state of one exchange in one object: this is the hot path. */
class Visit implements Dispatcher.DispatchHandler {
  readonly #ask: Ask
  readonly #resolve: (exchange: Exchange) => void
  readonly #startedAt = Date.now()
  readonly #start = performance.now()
  #sentAt = 0
  #firstByteAt = 0
  #controller: Dispatcher.DispatchController | undefined
  #timer: NodeJS.Timeout | undefined
  #done = false
  #confirming = false
  #informational = 0
  #connection: Connection | undefined
  #bytesBefore = 0
  #status = 0
  #statusText = ''
  #headers: [string, string][] = []
  #body: Body | undefined

  constructor(ask: Ask, resolve: (exchange: Exchange) => void) {
    this.#ask = ask
    this.#resolve = resolve
  }

  /** There is no time left before it begins: nothing is connected to, and nothing is said of the site. */
  outOfTime(): void {
    this.#end({ kind: 'not-sent', why: 'no time was left to send' })
  }

  dispatch(): void {
    const { way, origin, path, headers } = this.#ask
    try {
      way.waiting = this
      way.dispatch({ origin, path, method: 'GET', headers }, this)
    } catch (error) {
      this.onResponseError(undefined, error as Error) // undici refuses a header or a path: said before any byte
    }
  }

  /** Asked before the request is given a connection, and again when one has been made for it: why it may not be sent. */
  beforeUse(): Promise<Error | undefined> | undefined {
    const asking = this.#done ? undefined : this.#ask.confirm()
    if (asking === undefined) return undefined
    this.#confirming = true
    return asking.then(
      (why) => this.#confirmed(why),
      (error: Error) => this.#confirmed(error.message),
    )
  }

  #confirmed(why: string | undefined): Error | undefined {
    this.#confirming = false
    if (why !== undefined) this.#end({ kind: 'not-sent', why })
    return this.#done ? new NotSentError(why ?? 'the exchange is over') : undefined
  }

  /** Starts the clock: the send window while there is no connection, the whole deadline afterwards. */
  watch(): void {
    if (this.#done || this.#timer !== undefined) return
    const window = Math.min(SEND_WINDOW_MS, this.#ask.deadlineMs)
    this.#timer = setTimeout(() => this.#late(window), window)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#done) {
      controller.abort(new NotSentError('the exchange is over'))
      return
    }
    const why = this.#ask.lastCheck()
    if (why !== undefined) {
      this.#end({ kind: 'not-sent', why })
      controller.abort(new NotSentError(why))
      return
    }
    this.#ask.way.waiting = undefined
    this.#controller = controller
    this.#sentAt = performance.now()
    this.#connection = this.#ask.way.connection()
    if (this.#connection !== undefined) {
      this.#bytesBefore = this.#connection.socket?.bytesRead ?? 0
      this.#connection.reader = this
    }
    clearTimeout(this.#timer)
    const left = Math.max(1, this.#ask.deadlineMs - (this.#sentAt - this.#start))
    this.#timer = setTimeout(() => this.#late(this.#ask.deadlineMs), left)
    crashPointSoon('request.written')
  }

  onResponseStarted(): void {
    this.#firstByteAt = performance.now()
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusText?: string,
  ): void {
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL)
        controller.abort(Object.assign(new Error('a flood of 1xx answers'), { code: 'HPE_FLOOD' }))
      return
    }
    this.#status = status
    this.#statusText = statusText ?? ''
    this.#headers = readHeaders(controller.rawHeaders)
    this.#body = new Body(this.#ask.keepBody(this.#headers))
    crashPoint('answer.head')
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const body = this.#body
    if (this.#done || body === undefined) return
    crashPoint('body.mid')
    const room = this.#ask.maxBytes - body.bytes
    if (chunk.length > room) {
      if (room > 0) void body.write(chunk.subarray(0, room))
      this.#answered('length')
      controller.abort(new Error('the body is longer than its cap'))
      return
    }
    const full = body.write(chunk)
    if (full !== undefined) {
      controller.pause()
      void full.then(() => controller.resume())
    }
  }

  onResponseEnd(): void {
    this.#answered(false)
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#done) return
    if (this.#body !== undefined && isDisconnect(error)) this.#answered('disconnect')
    else this.#end({ kind: 'unanswered', error, phase: this.#phase() })
  }

  /** Octets that are no body (a head, chunk frames, trailers) are not seen one by one: their sum is watched. */
  onReading(): void {
    const bytes = (this.#connection?.socket?.bytesRead ?? 0) - this.#bytesBefore
    if (this.#done || bytes <= FRAMING_FREE_BYTES + FRAMING_FACTOR * (this.#body?.bytes ?? 0)) return
    const error = Object.assign(new Error(`${bytes} octets that are no body`), { code: 'HPE_FLOOD' })
    if (this.#body !== undefined) this.#answered('length')
    else this.#end({ kind: 'unanswered', error, phase: 'sent' })
    this.#controller?.abort(error)
  }

  #late(ms: number): void {
    if (this.#done) return
    const phase = this.#phase()
    const stalled = performance.now() - this.#start > ms + OWN_STALL_MS
    if (this.#body !== undefined) this.#answered('time')
    else if (this.#confirming) this.#end({ kind: 'not-sent', why: 'the ledger did not confirm the permit in time' })
    else if (phase !== 'sent' && stalled)
      this.#end({ kind: 'not-sent', why: 'this process stood still before it could send' })
    else this.#end({ kind: 'unanswered', error: new DeadlineError(phase, ms), phase })
    const reason = new Error('the exchange is over')
    if (this.#controller === undefined) this.#ask.way.abandon(reason)
    else this.#controller.abort(reason)
  }

  #phase(): Phase | 'sent' {
    return this.#sentAt > 0 ? 'sent' : (this.#ask.way.connection()?.phase ?? 'connect')
  }

  #answered(truncated: Truncated): void {
    const body = this.#body
    if (this.#done || body === undefined) return
    const tls = this.#ask.way.connection()?.tls
    const [status, statusText, headers] = [this.#status, this.#statusText, this.#headers]
    const answer: WithoutCommon<Answer> = { kind: 'answered', status, statusText, headers, body, truncated }
    if (tls !== undefined) answer.tls = tls
    this.#end(answer)
  }

  #end(result: WithoutCommon<Answer> | WithoutCommon<NoAnswer> | WithoutCommon<NotSent>): void {
    if (this.#done) return
    this.#done = true
    if (this.#ask.way.waiting === this) this.#ask.way.waiting = undefined
    clearTimeout(this.#timer)
    if (this.#connection !== undefined) this.#connection.reader = undefined
    const endedAt = performance.now()
    const connection = this.#ask.way.connection()
    const timing: Timing = { totalMs: endedAt - this.#start }
    if (connection !== undefined && connection.dialledAt >= this.#start) {
      const { dialledAt, lookedUpAt, connectedAt, openAt } = connection
      if (lookedUpAt !== undefined) timing.dnsMs = lookedUpAt - dialledAt
      if (connectedAt !== undefined) timing.connectMs = connectedAt - (lookedUpAt ?? dialledAt)
      if (connection.tls !== undefined && openAt !== undefined && connectedAt !== undefined)
        timing.tlsMs = openAt - connectedAt
    }
    if (this.#firstByteAt > 0) timing.firstByteMs = this.#firstByteAt - this.#sentAt
    const common: Common = { startedAt: this.#startedAt, endedAt, timing, address: connection?.address ?? '' }
    this.#resolve(Object.assign(result, common)) // not spread: that costs as much as all the rest of this
  }
}

type WithoutCommon<T> = Omit<T, keyof Common>

/** A body that broke off keeps what came; any other error in mid-body is a broken answer. */
function isDisconnect(error: Error): boolean {
  const code = 'code' in error ? error.code : undefined
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT'
}

function readHeaders(raw: Dispatcher.DispatchController['rawHeaders']): [string, string][] {
  const headers: [string, string][] = []
  if (!Array.isArray(raw)) return headers
  for (let i = 0; i + 1 < raw.length; i += 2) headers.push([text(raw[i]), text(raw[i + 1])])
  return headers
}

const text = (value: Buffer | string | undefined): string =>
  typeof value === 'string' ? value : (value?.toString('latin1') ?? '')
