/** One connection, and the exchange that reads from it. */
import type { Socket } from 'node:net'
import type { Phase, Protocol } from './answer.ts'
import type { Octets } from './octets.ts'

/** What is known of one socket. Instants are of `clock.monotonic()`. */
export type Connection = {
  phase: Exclude<Phase, 'sent'>
  dialledAt: number
  lookedUpAt?: number
  connectedAt?: number
  openAt?: number
  /** of the site, also behind a proxy; from the socket itself where there is none */
  address: string
  protocol: Protocol
  /** e.g. `TLSv1.3`; absent over plain TCP */
  tls?: string
  socket?: Socket
  /** of the answer that is being read, over HTTP/1.1 */
  octets: Octets
  /** the next octets from the socket, past undici */
  read?: () => Buffer | null
  /** over TLS, once it has ended: whether the peer has announced the end */
  hasCloseNotify?: boolean
  /** why a failure of the attempt would be one of this machine's own way out, as it looks now */
  awaits?: (() => string | undefined) | undefined
  /** ends the attempt to connect */
  giveUp?: (reason: Error) => void
  /**
   * The object itself and not a closure, which would keep an ended exchange alive until the next one (measured: then a third of all objects
   * survived a scavenge, now hardly any).
   */
  reader?: ConnectionReader | undefined
  /** something was asked for over it */
  isUsed?: boolean
}

/** An exchange, as its connection sees it. */
export type ConnectionReader = {
  /** over HTTP/2, several times a second: bytes may have come */
  onReading(): void
  /** over HTTP/1.1, before anything is read: reads all that is there, when undici may not. @returns whether that is so */
  pump(): boolean
  /** over HTTP/1.1, before they are parsed. @returns whether undici may parse them */
  onOctets(piece: Buffer): boolean
  /** undici wants to close the connection. @returns whether it stays open */
  onFault(error: Error): boolean
}
