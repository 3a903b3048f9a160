/**
 * Counts the bytes of HTTP/2 connections, since Node does not report single frames: one timer serves all connections of a process. While nothing
 * is read from a connection, its peer may send only a limited number of bytes outside a body.
 */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '@decorum/protocol'
import { FRAMES_COUNTED_EVERY_MS, FRAMING_FREE_BYTES } from '../limits.ts'

export type Counted = {
  /** called every FRAMES_COUNTED_EVERY_MS. @returns whether an exchange is reading, which judges the bytes since the last call itself */
  isRead(): boolean
  /** the peer has exceeded its limit */
  onFlood(): void
}

const connections = new Map<Socket, Counted & { bytes: number }>()
let timer: Timer | undefined

/** Counts until the socket is closed. */
export function countFrames(clock: Clock, socket: Socket, { isRead, onFlood }: Counted): void {
  connections.set(socket, { isRead, onFlood, bytes: socket.bytesRead })
  timer ??= clock.interval(check, FRAMES_COUNTED_EVERY_MS).unref()
  socket.once('close', () => {
    connections.delete(socket)
    if (connections.size > 0) return
    clock.cancel(timer)
    timer = undefined
  })
}

function check(): void {
  for (const [socket, one] of connections) {
    if (one.isRead()) one.bytes = socket.bytesRead
    else if (socket.bytesRead - one.bytes > FRAMING_FREE_BYTES) one.onFlood()
  }
}
