/**
 * Intercepts the bytes that undici reads from a connection over HTTP/1.1: a reader gets each piece before it is parsed, can withhold it
 * from undici, and can keep a connection open that undici's parser would close for a fault. Three methods of the socket are
 * wrapped, because undici reads, puts back and closes through them; nothing is copied and no event is added.
 */
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { TLSSocket } from 'node:tls'
import type { Connection } from './connection.ts'

/** Passes the bytes that undici reads from the socket to the reader of the connection. */
export function interceptBytes(connection: Connection, socket: Socket): void {
  const { received } = connection
  const read = socket.read.bind(socket)
  const unshift = socket.unshift.bind(socket)
  const destroy = socket.destroy.bind(socket)
  connection.read = read
  socket.read = (size) => {
    const { reader } = connection
    if (reader === undefined) return read(size)
    if (reader.pump()) return null
    const piece = read(size) as Buffer | null
    if (piece === null) {
      received.settle()
      return null
    }
    withoutStacks()
    return reader.onBytes(piece) ? piece : null
  }
  socket.unshift = (piece: Buffer) => {
    received.putBack(piece.length)
    unshift(piece)
  }
  socket.destroy = (error) => (error !== undefined && connection.reader?.onFault(error) ? socket : destroy(error))
  if (connection.tls !== undefined) watchCloseNotify(connection, socket as TLSSocket)
}

/**
 * Finds out whether the peer announced the end of a TLS connection (close_notify). Node reports both kinds of end alike. TLS reports an
 * announced end while the TCP connection below is still being read, and an unannounced one because TCP has ended. libuv shows which: it
 * refuses to start reading a handle that is already being read. A read that Node has stopped cannot have met the end of TCP.
 * In a version of Node without such a handle, no end counts as announced.
 */
function watchCloseNotify(connection: Connection, socket: TLSSocket): void {
  const push = socket.push.bind(socket)
  socket.push = (piece, encoding) => {
    if (piece === null) {
      const tls = (socket as { _handle?: TlsHandle })._handle
      const isRead = tls?._parent?.readStart?.() === -constants.errno.EALREADY
      connection.hasCloseNotify ??= tls?.reading === false || isRead
    }
    return push(piece, encoding)
  }
}
type TlsHandle = { reading?: boolean; _parent?: { readStart?(): number } }

/** Whether the peer has ended the connection as the protocol requires, so that a body without a length is complete (RFC 9112 §8, §9.8). */
export const hasEndedWell = ({ socket, tls, hasCloseNotify }: Connection): boolean =>
  socket?.readableEnded === true && (tls === undefined || hasCloseNotify === true)

/**
 * Until the end of this tick errors carry no stack. undici makes an error for each trailer beyond its limit, thousands for
 * one packet of a flood, and the stack is most of their cost (measured: 100 hostile sites blocked the loop for 300 ms).
 */
function withoutStacks(): void {
  if (stackDepth !== undefined) return
  stackDepth = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  process.nextTick(() => {
    Error.stackTraceLimit = stackDepth ?? 10
    stackDepth = undefined
  })
}
let stackDepth: number | undefined
