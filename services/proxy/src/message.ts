/**
 * A request of a client and the answer to it, independent of the HTTP version on the client's connection: HTTP/1.1 here, HTTP/2
 * in h2.ts.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Waiting } from './places.ts'

export type ClientRequest = {
  readonly method: string
  /** as received: the whole URL, or a path within a tunnel */
  readonly url: string
  /** the field Host, or :authority of HTTP/2 */
  readonly host: string
  readonly headers: IncomingHttpHeaders
  /** name, value, name, value … */
  readonly rawHeaders: readonly string[]
  readonly hasBody: boolean
  readonly body: Readable
  /** whether the body has ended, and its connection did not break off before */
  isWhole(): boolean
  /** the client waits for 100 Continue before it sends the body */
  readonly awaitsContinue: boolean
}

export type Reply = Waiting & {
  readonly destroyed: boolean
  /** a head has been sent, so no other answer is possible */
  readonly headersSent: boolean
  /** the answer is complete */
  readonly isEnded: boolean
  sendContinue(): void
  /** whether an answer with this status can be passed on */
  carries(status: number): boolean
  /** @param headers  name, value, name, value … @param isOwn  an answer of the proxy itself: it gets a date */
  head(status: number, statusText: string, headers: string[], isOwn?: boolean): void
  /** @returns false when the caller should wait for the client (`room`) · throws when more is written than was announced */
  write(piece: Uint8Array): boolean
  /** resolves when the client accepts more, or is gone; never rejects */
  room(): Promise<void>
  /** @param trailers  name, value …, if the version and the framing of the answer allow them */
  end(last?: string | Uint8Array, trailers?: readonly [string, string][]): void
  /** breaks the answer off, so that the client cannot take it for complete */
  destroy(): void
}

/** @param response  its errors are ignored: its close event is handled */
export const overHttp1 = (
  request: IncomingMessage,
  response: ServerResponse,
): { incoming: ClientRequest; reply: Reply } => ({
  incoming: new Http1Request(request),
  reply: new Http1Reply(response),
})

class Http1Request implements ClientRequest {
  readonly body: IncomingMessage
  constructor(request: IncomingMessage) {
    this.body = request
  }
  get method(): string {
    return this.body.method ?? 'GET'
  }
  get url(): string {
    return this.body.url ?? ''
  }
  get host(): string {
    return this.body.headers.host ?? ''
  }
  get headers(): IncomingHttpHeaders {
    return this.body.headers
  }
  get rawHeaders(): string[] {
    return this.body.rawHeaders
  }
  get hasBody(): boolean {
    const { 'content-length': length, 'transfer-encoding': codings } = this.body.headers
    return length !== undefined ? length !== '0' : codings !== undefined
  }
  isWhole(): boolean {
    return this.body.complete
  }
  /** HTTP/1.0 has no 1xx answers (RFC 9110 §15.2) */
  get awaitsContinue(): boolean {
    const { httpVersion, headers } = this.body
    return httpVersion !== '1.0' && /^100-continue$/i.test(headers.expect ?? '')
  }
}

class Http1Reply implements Reply {
  readonly #response: ServerResponse
  constructor(response: ServerResponse) {
    this.#response = response
  }
  get closed(): boolean {
    return this.#response.closed
  }
  get destroyed(): boolean {
    return this.#response.destroyed
  }
  get headersSent(): boolean {
    return this.#response.headersSent
  }
  get isEnded(): boolean {
    return this.#response.writableEnded
  }
  once(event: 'close', listener: () => void): void {
    this.#response.once(event, listener)
  }
  off(event: 'close', listener: () => void): void {
    this.#response.off(event, listener)
  }
  sendContinue(): void {
    this.#response.writeContinue()
  }
  carries(): boolean {
    return true
  }
  head(status: number, statusText: string, headers: string[], isOwn = false): void {
    const response = this.#response
    response.sendDate = isOwn // the site's date is kept, if any
    response.strictContentLength = true
    if (isOwn) response.writeHead(status, headers)
    else response.writeHead(status, statusText.replace(/[^\t\x20-\x7e\x80-\xff]/g, ''), headers)
  }
  write(piece: Uint8Array): boolean {
    return this.#response.write(piece)
  }
  room(): Promise<void> {
    return roomIn(this.#response)
  }
  end(last?: string | Uint8Array, trailers?: readonly [string, string][]): void {
    const response = this.#response
    if (trailers !== undefined && response.chunkedEncoding) response.addTrailers(trailers)
    response.end(last)
  }
  destroy(): void {
    this.#response.destroy()
  }
}

type Taking = {
  once(event: 'drain' | 'close', listener: () => void): unknown
  off(event: 'drain' | 'close', listener: () => void): unknown
}

/** Resolves when the stream accepts more, or has closed. */
export function roomIn(stream: Taking): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      stream.off('drain', go)
      stream.off('close', go)
      resolve()
    }
    stream.once('drain', go)
    stream.once('close', go)
  })
}
