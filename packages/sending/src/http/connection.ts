/** One connection, and the exchange that reads from it. */
import type { Socket } from 'node:net'
import type { Phase, Protocol } from './answer.ts'
import type { AnswerBytes } from './answer-bytes.ts'

/** State of one socket. Instants are of `clock.monotonic()`. */
export type Connection = {
  phase: Exclude<Phase, 'sent'>
  dialledAt: number
  resolvedAt?: number
  connectedAt?: number
  openAt?: number
  /** the address of the site, also behind a proxy; without a proxy, the socket's peer */
  address: string
  protocol: Protocol
  /** e.g. `TLSv1.3`; absent over plain TCP */
  tls?: string
  socket?: Socket
  /** the bytes of the answer being read, over HTTP/1.1 */
  received: AnswerBytes
  /** reads the next bytes from the socket, bypassing undici */
  read?: () => Buffer | null
  /** whether the peer announced the end of the TLS connection; undefined: it has not ended, or there is no TLS */
  hasCloseNotify?: boolean
  /** why a failure of the attempt would, as known now, be the fault of this machine's egress; undefined: it would not */
  awaits?: (() => string | undefined) | undefined
  /** ends the attempt to connect */
  giveUp?: (reason: Error) => void
  /**
   * The exchange that reads now: the object itself, because a closure would keep a finished exchange alive until the next one (measured:
   * with closures a third of all objects survived a scavenge, now hardly any).
   */
  reader?: ConnectionReader | undefined
  /** whether a request was sent over the connection before */
  isUsed?: boolean
}

/** The interface of an exchange to its connection. */
export type ConnectionReader = {
  /** over HTTP/2, called several times a second: bytes may have arrived */
  onReading(): void
  /** over HTTP/1.1, before a read: reads the available bytes itself when undici must not. @returns whether it did */
  pump(): boolean
  /** over HTTP/1.1, before bytes are parsed. @returns whether undici may parse them */
  onBytes(piece: Buffer): boolean
  /** called when undici is about to close the connection for an error. @returns whether it stays open */
  onFault(error: Error): boolean
}
