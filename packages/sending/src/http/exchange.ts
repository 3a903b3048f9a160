/**
 * One request and its answer through undici, without retries and redirects. One deadline covers look-up, connect, TLS, headers and
 * body, and closes the socket in every phase. If connecting took long, the ledger must confirm the lease before the connection is used
 * (`confirm`). The last check runs in `onRequestStart`, the tick in which the bytes leave, so a process that was suspended meanwhile
 * sends nothing. (Over HTTP/2 Node writes the frames at the end of that round of its event loop.)
 */
import type { Readable } from 'node:stream'
import type { Clock, Timer, Tolerated } from '@decorum/protocol'
import { crashPoint, crashPointSoon, defined } from '@decorum/runtime'
import type { Dispatcher } from 'undici'
import {
  FRAMING_FACTOR,
  FRAMING_FREE_BYTES,
  HEADERS_MAX_BYTES,
  LARGE_HEAD_BYTES,
  MAX_INFORMATIONAL,
  SEND_WINDOW_MS,
} from '../limits.ts'
import {
  type Answer,
  type Common,
  type Exchange,
  type Headers,
  lengthOf,
  type NoAnswer,
  type NotSent,
  type Phase,
  readHeaders,
  type Timing,
  type Truncated,
} from './answer.ts'
import { Body } from './body.ts'
import type { Connection, ConnectionReader } from './connection.ts'
import type { Way } from './connections.ts'
import { StoppedError } from './dial.ts'
import { type H2Stream, nextH2Stream } from './h2-streams.ts'
import { hasEndedWell } from './intercept-bytes.ts'
import { endsWithConnection, hasUnusualCodings } from './lenient/framing.ts'
import { isParserFault, type Reading, readHead, SecondReading } from './second-reading.ts'
import { SendWindow } from './send-window.ts'
import { EgressError } from './tunnel.ts'

/**
 * Confirms a lease with the ledger if the last confirmation is old. `undefined`, at once or later: the request may be sent;
 * otherwise the reason why not.
 */
export type Confirm = () => Promise<string | undefined> | undefined

/** Why nothing may be sent to this address, or undefined. Without an address: before the connection is made. */
export type LastCheck = (address: string | undefined) => string | undefined

export type ExchangeRequest = {
  way: Way
  origin: string
  path: string
  /** default GET */
  method?: string
  /** body of the request, streamed: its length is in the headers, or it is chunked. Default: none */
  content?: Readable | undefined
  /** name, value, name, value …; undici adds host and connection */
  headers: string[]
  /** time from now to the last byte */
  deadlineMs: number
  /** bytes of the body on the wire; a longer body is cut */
  maxBytes: number
  /** called in the tick in which the bytes leave */
  lastCheck: LastCheck
  /** called before a connection is used */
  confirm: Confirm
  /** whether the body will be read; otherwise it is only counted and digested */
  keepBody: (headers: Headers) => boolean
  /** returns the object that receives the body during the download, instead of one that keeps or counts it */
  passOn?: (head: Head) => Body
  /** the caller has given up: the exchange ends in any phase */
  signal?: AbortSignal
  /** how many bytes of the body's start can be read directly. Default: none */
  startBytes?: (headers: Headers) => number
  /** whether the body of an answer with this head is wanted; otherwise the exchange ends after the head. Default: wanted */
  wantsBody?: (headers: Headers) => boolean
}

/** The deadline of the exchange passed in the named phase. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
  readonly code = 'ERR_DEADLINE'
  constructor(phase: Phase, ms: number) {
    super(`no ${WAITING_FOR[phase]} within ${Math.round(ms)} ms`)
  }
}
const WAITING_FOR: Record<Phase, string> = {
  dns: 'look-up',
  connect: 'connection',
  tls: 'TLS handshake',
  open: 'answer',
  sent: 'answer',
}

/** Aborts a request inside undici that must no longer be sent. */
class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

const KEPT_FROM_RUNNING = 'this process was kept from running before it could send'

/** Runs one exchange; never rejects, for any behaviour of the peer. */
export function exchange(request: ExchangeRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    const running = new RunningExchange(request, resolve)
    if (request.deadlineMs <= 0) return running.outOfTime()
    if (request.signal?.aborted === true) return running.notWanted()
    const confirming = running.beforeUse()
    if (confirming === undefined) running.dispatch()
    else void confirming.then((refused) => refused === undefined && running.dispatch())
    running.watch()
  })
}

/** The handler for undici and the state of one exchange are one object, since each page needs one. */
class RunningExchange implements Dispatcher.DispatchHandler, ConnectionReader, Reading {
  readonly #request: ExchangeRequest
  readonly #resolve: (exchange: Exchange) => void
  readonly #clock: Clock
  readonly #startedAt: number
  readonly #start: number
  #sentAt = 0
  #firstByteAt = 0
  #controller: Dispatcher.DispatchController | undefined
  #window: SendWindow | undefined
  /** the timer of the deadline, once the request has been sent */
  #timer: Timer | undefined
  #done = false
  #confirming = false
  #informational = 0
  #connection: Connection | undefined
  #stream: H2Stream | undefined
  #bytesBefore = 0
  /** bytes of the answer so far, over HTTP/1.1 */
  #received = 0
  /** bytes of a large head; 0: the head is not large */
  #largeHead = 0
  #head: Head = NO_HEAD
  #body: Body | undefined
  /** whether the connection is new: no request was sent over it before */
  #isFirst = false
  /** tolerated faults that the second reader does not report: a large head */
  #faults: Tolerated[] = []
  #second: SecondReading | undefined
  #trailers: Headers | undefined

  constructor(request: ExchangeRequest, resolve: (exchange: Exchange) => void) {
    this.#request = request
    this.#resolve = resolve
    this.#clock = request.way.clock
    this.#startedAt = this.#clock.machine()
    this.#start = this.#clock.monotonic()
  }

  /** The deadline had passed before the start: no connection is made, and the result says nothing about the site. */
  outOfTime(): void {
    this.#end({ kind: 'not-sent', why: 'no time was left to send' })
  }

  dispatch(): void {
    const { way, origin, path, headers, method = 'GET', content = null } = this.#request
    try {
      way.waiting = this
      way.dispatch({ origin, path, method, headers, body: content }, this)
    } catch (error) {
      this.onResponseError(undefined, error as Error) // undici refuses a header or a path before any byte is sent
    }
  }

  /** Called before the request gets a connection, and again when one has been made for it. Returns why it may not be sent. */
  beforeUse(): Promise<Error | undefined> | undefined {
    const confirming = this.#done ? undefined : this.#request.confirm()
    if (confirming === undefined) return undefined
    this.#confirming = true
    return confirming.then(
      (why) => this.#confirmed(why),
      (error: Error) => this.#confirmed(error.message),
    )
  }

  #confirmed(why: string | undefined): Error | undefined {
    this.#confirming = false
    if (why !== undefined) this.#end({ kind: 'not-sent', why })
    return this.#done ? new NotSentError(why ?? 'the exchange is over') : undefined
  }

  /** Starts the send window. The deadline's timer is set when the request leaves. */
  watch(): void {
    const { signal } = this.#request
    if (signal?.aborted === true) this.notWanted()
    else signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (this.#done || this.#window !== undefined || this.#sentAt > 0) return
    const ms = Math.min(SEND_WINDOW_MS, this.#request.deadlineMs)
    this.#window = new SendWindow(this.#clock, ms, () => this.#late(ms))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { way, lastCheck, deadlineMs } = this.#request
    if (this.#sentAt > 0) {
      // undici sends a request again that HTTP/2 has refused. That is another request, and only the ledger grants one.
      const error = new Error('the site refused the request')
      this.#end({ kind: 'unanswered', error, phase: 'sent' }, () => controller.abort(error))
      return
    }
    this.#connection = way.connection()
    const why = this.#done ? 'the exchange is over' : (way.whyStopped() ?? lastCheck(this.#connection?.address))
    if (why !== undefined) {
      this.#end({ kind: 'not-sent', why }, () => controller.abort(new NotSentError(why)))
      return
    }
    way.waiting = undefined
    this.#controller = controller
    this.#sentAt = this.#clock.monotonic()
    if (this.#connection !== undefined) {
      this.#bytesBefore = this.#connection.socket?.bytesRead ?? 0
      this.#connection.reader = this
      this.#isFirst = this.#connection.isUsed !== true
      this.#connection.isUsed = true
    }
    if (this.#connection?.protocol === 'h2')
      nextH2Stream((stream) => {
        this.#stream = stream
      })
    this.#window?.close()
    this.#timer = this.#clock.timeout(
      () => this.#late(deadlineMs),
      Math.max(1, deadlineMs - (this.#sentAt - this.#start)),
    )
    crashPointSoon('request.written')
  }

  onResponseStarted(): void {
    this.#firstByteAt = this.#clock.monotonic()
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _headers: unknown, statusText = ''): void {
    if (this.#second !== undefined) return
    if (status < 200) {
      if (++this.#informational > MAX_INFORMATIONAL || status < 100)
        this.#abort(Object.assign(new Error(`a flood of 1xx answers, or a status ${status}`), { code: 'HPE_FLOOD' }))
      return
    }
    const headers = this.#stream?.headers ?? readHeaders(controller.rawHeaders)
    const connection = this.#connection
    if (connection?.protocol === 'h2') this.head({ status, statusText: '', headers, protocol: 'h2' })
    else if (hasUnusualCodings(headers)) this.#readAgain()
    else this.head({ status, headers, ...this.#statusLine(statusText) })
  }

  /** undici does not pass on the version. It decodes the reason phrase as UTF-8, and loses part of it where two reads meet. */
  #statusLine(statusText: string): Pick<Head, 'statusText' | 'protocol'> {
    const received = this.#connection?.received
    const first = this.#informational === 0 ? received?.only() : undefined
    if (first?.[0] === LETTER_H && isAscii(statusText)) {
      const isOld = first[5] === DIGIT_0 || (first[5] === DIGIT_1 && first[7] === DIGIT_0)
      return { statusText, protocol: isOld ? 'http/1.0' : 'http/1.1' }
    }
    const head = readHead(received?.all() ?? [], this.#isHead)
    return { statusText: head?.statusText ?? statusText, protocol: head?.protocol ?? 'http/1.1' }
  }

  /** The head of the answer has arrived, from either reader. */
  head(head: Head): void {
    if (this.#done || this.#body !== undefined) return // the second reader repeats a head that the first one has read
    this.#head = head
    const { status, headers, protocol } = head
    if (protocol === 'h2' || this.#received > LARGE_HEAD_BYTES) {
      const bytes = lengthOf(headers)
      if (bytes > HEADERS_MAX_BYTES) {
        const code = 'UND_ERR_HEADERS_OVERFLOW' // undici counts only the fields of HTTP/1.1 itself
        this.#abort(Object.assign(new Error(`headers of more than ${HEADERS_MAX_BYTES} bytes`), { code }))
        return
      }
      if (bytes > LARGE_HEAD_BYTES) {
        this.#faults.push('large-head')
        this.#largeHead = bytes
      }
    }
    const { passOn, keepBody, startBytes } = this.#request
    this.#body = passOn?.(head) ?? new Body(keepBody(headers), startBytes?.(headers))
    crashPoint('answer.head')
    const { wantsBody } = this.#request
    if (wantsBody === undefined || this.#isHead || status === 204 || status === 304 || wantsBody(headers)) return
    this.#answered('type', () => this.#abort(new Error('the body is of a type that is not wanted')))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#second !== undefined) return
    this.#connection?.received.handedOn(chunk)
    const full = this.data(chunk)
    if (full === undefined) return
    controller.pause()
    void full.then(() => controller.resume())
  }

  /** @returns a promise until whose end the site should pause; undefined: no pause */
  data(chunk: Buffer): Promise<void> | undefined {
    const body = this.#body
    if (this.#done || body === undefined) return undefined
    crashPoint('body.mid')
    const room = this.#request.maxBytes - body.bytes
    if (chunk.length <= room) return body.write(chunk)
    if (room > 0) void body.write(chunk.subarray(0, room))
    this.#answered('length', () => this.#abort(new Error('the body is longer than its cap')))
    return undefined
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#second !== undefined) return
    const trailers = readHeaders(controller.rawTrailers)
    if (trailers.length > 0) this.#trailers = trailers
    if (this.#body === undefined) {
      const error = Object.assign(new Error('the answer has no head'), { code: 'HPE_NO_HEAD' })
      this.#end({ kind: 'unanswered', error, phase: 'sent' })
    } else this.#answered(this.#isCut() ? 'disconnect' : '')
  }

  /** Whether the body ended without proof that it is complete (RFC 9112 §8, RFC 9113 §8.1). */
  #isCut(): boolean {
    const connection = this.#connection
    if (connection?.socket === undefined) return false
    if (connection.protocol === 'h2') return this.#wasReset()
    const { destroyed, readableEnded } = connection.socket
    return (destroyed || readableEnded) && endsWithConnection(this.#head, this.#isHead) && !hasEndedWell(connection)
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#done || this.#second !== undefined) return
    if (
      this.#body !== undefined &&
      (isDisconnect(error) || this.#wasReset() || this.#connection?.socket?.readableEnded)
    )
      this.#answered('disconnect')
    else if (error instanceof EgressError || error instanceof StoppedError)
      this.#end({ kind: 'not-sent', why: error.message })
    else if (this.#keptFromSending()) this.#end({ kind: 'not-sent', why: KEPT_FROM_RUNNING })
    else this.#end({ kind: 'unanswered', error, phase: this.#phase() })
  }

  /** Bytes outside the body (a head, chunk frames, trailers) are not reported one by one, so their sum is limited. */
  onReading(): void {
    const bytes = (this.#connection?.socket?.bytesRead ?? 0) - this.#bytesBefore
    const head = this.#body === undefined ? HEADERS_MAX_BYTES : this.#largeHead
    if (this.#done || bytes <= head + FRAMING_FREE_BYTES + FRAMING_FACTOR * (this.#body?.bytes ?? 0)) return
    const error = Object.assign(new Error(`${bytes} bytes that belong to no body`), { code: 'HPE_FLOOD' })
    const abort = (): void => this.#abort(error)
    if (this.#body !== undefined) this.#answered('length', abort)
    else this.#end({ kind: 'unanswered', error, phase: 'sent' }, abort)
  }

  onBytes(piece: Buffer): boolean {
    this.onReading()
    if (this.#done) return false
    const before = this.#received
    this.#received += piece.length
    this.#connection?.received.came(piece)
    if (this.#body !== undefined || this.#received <= LARGE_HEAD_BYTES) return true
    if (before <= LARGE_HEAD_BYTES && endsWithin(piece, LARGE_HEAD_BYTES)) return true
    this.#readAgain()
    return false
  }

  pump(): boolean {
    this.#second?.pump()
    return this.#second !== undefined
  }

  onFault(error: Error): boolean {
    if (!isParserFault(error) || this.#connection?.socket?.readableEnded !== false) return false
    if (this.#second === undefined) this.#readAgain()
    return true
  }

  /** Hands the answer to the second reader, with all bytes that arrived and are not yet part of the body. */
  #readAgain(): void {
    const { received, read, socket } = this.#connection ?? {}
    if (received === undefined || read === undefined || socket === undefined) return
    if (this.#firstByteAt === 0) this.#firstByteAt = this.#clock.monotonic()
    const bytes = this.#body?.bytes ?? 0
    const after = bytes > 0 ? { head: this.#head, bytes } : undefined
    const start = { after, isHead: this.#isHead, isFirst: this.#isFirst }
    this.#second = new SecondReading(start, received.all(), read, this)
    received.clear()
    socket.once('close', () => this.#hasClosed(socket.errored))
    process.nextTick(() => this.pump()) // undici's parser may be running
  }

  /** The second reader has reached the end of the answer. Nothing after it is read on this connection. */
  over(): void {
    this.#answered('', () => this.#abort(new Error('the answer was not as HTTP wants it')))
  }

  refused(error: Error): void {
    if (this.#done) return
    this.#end({ kind: 'unanswered', error, phase: 'sent' }, () => this.#abort(error))
  }

  /** The connection was closed during the second reading. @param error  the socket's; null: none */
  #hasClosed(error: Error | null): void {
    const [second, connection] = [this.#second, this.#connection]
    if (this.#done || second === undefined || connection === undefined) return
    if (this.#body !== undefined)
      this.#answered(second.endsWithConnection && hasEndedWell(connection) ? '' : 'disconnect')
    else this.#end({ kind: 'unanswered', error: error ?? new Error('other side closed'), phase: 'sent' })
  }

  #late(ms: number): void {
    if (this.#done) return
    const phase = this.#phase()
    const giveUp = (): void => this.#close(new Error('the exchange is over'))
    const notSent = (why: string): void => this.#end({ kind: 'not-sent', why }, giveUp)
    const awaits = phase === 'sent' ? undefined : this.#request.way.connection()?.awaits?.()
    if (this.#body !== undefined) this.#answered('time', giveUp)
    else if (this.#confirming) notSent('the ledger did not confirm the lease in time')
    else if (awaits !== undefined) notSent(awaits)
    else if (this.#keptFromSending()) notSent(KEPT_FROM_RUNNING)
    else this.#end({ kind: 'unanswered', error: new DeadlineError(phase, ms), phase }, giveUp)
  }

  readonly #onAbort = (): void => this.notWanted()

  /** The caller's signal has aborted. */
  notWanted(): void {
    if (this.#done) return
    const reason = this.#request.signal?.reason as Error
    const phase = this.#phase()
    const close = (): void => this.#close(reason)
    if (this.#body !== undefined) this.#answered('time', close)
    else if (phase === 'sent') this.#end({ kind: 'unanswered', error: reason, phase }, close)
    else this.#end({ kind: 'not-sent', why: reason.message }, close)
  }

  /** Whether nothing has been sent, and the cause may be this process rather than the site. */
  #keptFromSending(): boolean {
    return this.#sentAt === 0 && this.#window?.wasKeptFromRunning() === true
  }

  /** Closes the connection, or stops the attempt to make one. */
  #close(reason: Error): void {
    if (this.#controller === undefined) this.#request.way.abandon(reason)
    else this.#abort(reason)
  }

  /**
   * Ends the request and its connection. undici would keep an HTTP/2 connection open to a site that may still be sending, and also one
   * whose answer undici ended at another place than the second reader.
   */
  #abort(reason: Error): void {
    this.#controller?.abort(reason)
    if (this.#connection?.protocol === 'h2' || this.#second !== undefined) this.#connection?.socket?.destroy()
  }

  get #isHead(): boolean {
    return this.#request.method === 'HEAD'
  }

  /** Whether the site broke off this answer over HTTP/2: with an error code, or without one and without END_STREAM (RFC 9113 §8.1). */
  #wasReset(): boolean {
    const stream = this.#stream
    if (stream === undefined) return false
    const code = stream.resetCode()
    return code === 0 ? !stream.hasEnded() : code !== H2_PROTOCOL_ERROR
  }

  #phase(): Phase {
    return this.#sentAt > 0 ? 'sent' : (this.#request.way.connection()?.phase ?? 'connect')
  }

  #answered(truncated: Truncated, close?: () => void): void {
    const body = this.#body
    if (body === undefined) return
    const tls = this.#connection?.tls
    const { status, statusText, headers, protocol } = this.#head
    const tolerated = this.#second === undefined ? this.#faults : [...this.#second.tolerated, ...this.#faults]
    const answer: WithoutCommon<Answer> = {
      kind: 'answered',
      status,
      statusText,
      headers,
      body,
      truncated,
      protocol,
      tolerated,
      ...defined({ tls, trailers: this.#trailers }),
    }
    this.#end(answer, close)
  }

  /**
   * @param close  closes the connection if this side ends the exchange; called in any case. The clock is read after it, because the next
   * delay counts from there: if the process paused between the two, the site would get a shorter delay.
   */
  #end(result: WithoutCommon<Answer> | WithoutCommon<NoAnswer> | WithoutCommon<NotSent>, close?: () => void): void {
    if (this.#done) {
      close?.()
      return
    }
    this.#done = true
    if (this.#request.way.waiting === this) this.#request.way.waiting = undefined
    this.#window?.close()
    this.#clock.cancel(this.#timer)
    this.#request.signal?.removeEventListener('abort', this.#onAbort)
    this.#second?.stop()
    if (this.#connection?.reader === this) {
      this.#connection.reader = undefined
      this.#connection.received.clear()
    }
    const connection = this.#connection ?? this.#request.way.connection()
    if (result.kind === 'unanswered' && this.#connection?.protocol === 'h2') {
      const isOurs = result.error instanceof DeadlineError || result.error === this.#request.signal?.reason
      if (!isOurs) this.#request.way.distrustHttp2()
      this.#connection.socket?.destroy()
    }
    close?.()
    const endedAt = this.#clock.monotonic()
    const timing: Timing = { totalMs: endedAt - this.#start }
    if (connection !== undefined && connection.dialledAt >= this.#start) {
      const { dialledAt, resolvedAt, connectedAt, openAt } = connection
      if (resolvedAt !== undefined) timing.dnsMs = resolvedAt - dialledAt
      if (connectedAt !== undefined) timing.connectMs = connectedAt - (resolvedAt ?? dialledAt)
      if (connection.tls !== undefined && openAt !== undefined && connectedAt !== undefined)
        timing.tlsMs = openAt - connectedAt
    }
    if (this.#firstByteAt > 0) timing.firstByteMs = this.#firstByteAt - this.#sentAt
    const common: Common = { startedAt: this.#startedAt, endedAt, timing, address: connection?.address ?? '' }
    this.#resolve(Object.assign(result, common))
  }
}

type WithoutCommon<T> = Omit<T, keyof Common>

/** The head of an answer. */
export type Head = Pick<Answer, 'status' | 'statusText' | 'headers' | 'protocol'>
const NO_HEAD: Head = { status: 0, statusText: '', headers: [], protocol: 'http/1.1' }

const [LETTER_H, DIGIT_0, DIGIT_1] = [0x48, 0x30, 0x31]
const isAscii = (text: string): boolean => !/[\u0080-\uffff]/.test(text)

/** Whether the head, and any 1xx heads before it, ends among the first bytes. */
function endsWithin(received: Buffer, bytes: number): boolean {
  for (let from = 0; ;) {
    const end = received.indexOf('\r\n\r\n', from)
    if (end < 0 || end >= bytes) return false
    if (received[from] !== LETTER_H) return false // empty lines, which undici reads without limit
    if (received[from + 'HTTP/1.1 '.length] !== DIGIT_1) return true
    from = end + 4
  }
}

/** PROTOCOL_ERROR, which Node reports when a body differs from its announced length. */
const H2_PROTOCOL_ERROR = 1

/** Whether the connection broke off: the part of the body that arrived is kept. Any other error inside the body leaves no answer. */
function isDisconnect(error: Error): boolean {
  const code = 'code' in error ? String(error.code) : ''
  return DISCONNECTS.has(code) || code.startsWith('ERR_SSL_') // a TLS alert
}
const DISCONNECTS = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EPROTO'])
