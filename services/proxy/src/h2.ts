/**
 * HTTP/2 towards a client, within an inspected tunnel (RFC 9113). Each stream is a request with its turn: it waits in line, is answered, and
 * loses its turn when it is reset, like a request over HTTP/1.1 whose connection closes.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { type Clock, REQUEST_HEAD_BYTES } from '@decorum/protocol'
import { countFrames, watchEnd } from '@decorum/sending/http'
import { type ClientRequest, type Reply, roomIn } from './message.ts'

/** Most requests of one connection that wait or run at once: the minimum that clients may expect by RFC 9113 §6.5.2. */
const MOST_STREAMS = 100
const MOST_FIELDS = 1_000
/** As over HTTP/1.1: longer than common clients keep an idle connection. */
const KEEP_ALIVE_MS = 72_000

/** Open connections, which end with the process. */
export type Sessions = Set<ServerHttp2Session>

/** @param serve  called with each request */
export function serveHttp2(
  socket: TLSSocket,
  clock: Clock,
  sessions: Sessions,
  serve: (incoming: ClientRequest, reply: Reply) => void,
): void {
  const session = performServerHandshake(socket, {
    maxHeaderListPairs: MOST_FIELDS,
    strictSingleValueFields: false, // a site may repeat fields against the rules, and the proxy passes them on
    settings: {
      maxConcurrentStreams: MOST_STREAMS,
      maxHeaderListSize: REQUEST_HEAD_BYTES,
      enableConnectProtocol: false,
      enablePush: false,
    },
  })
  let [open, hasMoved] = [0, true]
  const moves = (): void => {
    hasMoved = true
  }
  // Frames that arrive while no request makes progress belong to no request, and too many of them end the connection
  countFrames(clock, socket, {
    isRead: () => {
      const did = hasMoved
      hasMoved = false
      return did
    },
    onFlood: () => session.destroy(),
  })
  sessions.add(session)
  session.once('close', () => sessions.delete(session))
  session.on('error', () => undefined) // its streams end with it
  session.setTimeout(KEEP_ALIVE_MS, () => {
    if (open === 0) session.close()
  })
  session.on('stream', (stream, headers, flags, ...[raw]: unknown[]) => {
    open++
    moves()
    stream.once('close', () => {
      open--
      moves()
    })
    stream.on('error', () => undefined) // the close event is handled
    // Node does not destroy a stream that is reset with NO_ERROR before its answer, as at the end of a connection
    stream.once('aborted', () => process.nextTick(() => stream.destroy()))
    const hasBody = (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0
    serve(
      new Http2Request(stream, headers, raw as string[], hasBody, moves),
      new Http2Reply(stream, headers[':method'] === 'HEAD', moves),
    )
  })
}

class Http2Request implements ClientRequest {
  readonly body: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly hasBody: boolean
  readonly isWhole: () => boolean

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    hasBody: boolean,
    moves: () => void,
  ) {
    this.body = stream
    this.headers = headers
    this.rawHeaders = withOneCookie(raw)
    this.hasBody = hasBody
    this.isWhole = hasBody ? watchEnd(stream, moves) : () => true
  }
  get method(): string {
    return String(this.headers[':method'] ?? '')
  }
  get url(): string {
    return String(this.headers[':path'] ?? '')
  }
  /** Empty if Host differs from :authority (RFC 9113 §8.3.1). */
  get host(): string {
    const { ':authority': authority, host = authority } = this.headers
    return authority === undefined || host === authority ? String(host ?? '') : ''
  }
  get awaitsContinue(): boolean {
    return this.hasBody && /^100-continue$/i.test(this.headers.expect ?? '')
  }
}

/** Cookie may arrive in several fields, which HTTP/1.1 joins into one (RFC 9113 §8.2.3). */
function withOneCookie(raw: readonly string[]): readonly string[] {
  let first = -1
  let all: string[] | undefined
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (raw[at] !== 'cookie') continue
    if (first < 0) first = at
    else {
      all ??= [...raw]
      all[first + 1] = `${all[first + 1]}; ${raw[at + 1]}`
      all[at] = ':' // dropped later, like a pseudo-header
    }
  }
  return all ?? raw
}

class Http2Reply implements Reply {
  readonly #stream: ServerHttp2Stream
  readonly #moves: () => void
  readonly #isHead: boolean
  #trailers: readonly [string, string][] = []
  #isEnded = false

  constructor(stream: ServerHttp2Stream, isHead: boolean, moves: () => void) {
    this.#stream = stream
    this.#isHead = isHead
    this.#moves = moves
  }
  get closed(): boolean {
    return this.#stream.closed
  }
  get destroyed(): boolean {
    return this.#stream.closed || this.#stream.destroyed
  }
  get headersSent(): boolean {
    return this.#stream.headersSent
  }
  get isEnded(): boolean {
    return this.#isEnded
  }
  once(event: 'close', listener: () => void): void {
    this.#stream.once(event, listener)
  }
  off(event: 'close', listener: () => void): void {
    this.#stream.off(event, listener)
  }
  sendContinue(): void {
    this.#stream.additionalHeaders({ ':status': 100 })
  }
  /** Node writes no other status over HTTP/2. */
  carries(status: number): boolean {
    return status >= 200 && status <= 599
  }
  head(status: number, _statusText: string, headers: string[], isOwn = false): void {
    const stream = this.#stream
    const fields = [':status', String(status)]
    for (let at = 0; at + 1 < headers.length; at += 2)
      fields.push((headers[at] as string).toLowerCase(), headers[at + 1] as string)
    stream.once('wantTrailers', () => stream.sendTrailers(fieldsOf(this.#trailers)))
    // sendDate is missing in Node's types. Unless trailers are expected, Node itself ends a stream whose request body was not read, such as
    // that of a refused request
    stream.respond(fields, { sendDate: isOwn, waitForTrailers: !isOwn && !this.#isHead } as never)
  }
  write(piece: Uint8Array): boolean {
    this.#moves()
    return this.#stream.write(piece)
  }
  room(): Promise<void> {
    return roomIn(this.#stream)
  }
  end(last?: string | Uint8Array, trailers: readonly [string, string][] = []): void {
    this.#isEnded = true
    this.#trailers = trailers
    if (!this.#stream.writableEnded) this.#stream.end(last) // Node has already ended the stream for HEAD, 204 and 304
  }
  destroy(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
}

/** In Node's form: repeated fields become a list. */
const fieldsOf = (trailers: readonly [string, string][]): Record<string, string[]> =>
  Object.fromEntries(
    [...Map.groupBy(trailers, ([name]) => name.toLowerCase())].map(([name, all]) => [
      name,
      all.map(([, value]) => value),
    ]),
  )
