/**
 * Counts the bytes of connections over HTTP/2, since Node reports no single frames: of all of a process, by one timer. While nothing is read from a
 * connection its peer may send no more than it may besides a body.
 */
import type { Socket } from 'node:net'
import type { Clock, Timer } from '@decorum/protocol'
import { FRAMES_COUNTED_EVERY_MS, FRAMING_FREE_BYTES } from '../limits.ts'

export type Counted = {
  /** called several times a second: what has come since the last time belongs to what is read, and is judged by its reader */
  isRead(): boolean
  /** more has come than may */
  onFlood(): void
}

const connections = new Map<Socket, Counted & { bytes: number }>()
let timer: Timer | undefined

/** Until the socket is closed. */
export function countFrames(clock: Clock, socket: Socket, { isRead, onFlood }: Counted): void {
  connections.set(socket, { isRead, onFlood, bytes: socket.bytesRead })
  timer ??= clock.interval(look, FRAMES_COUNTED_EVERY_MS).unref()
  socket.once('close', () => {
    connections.delete(socket)
    if (connections.size > 0) return
    clock.cancel(timer)
    timer = undefined
  })
}

function look(): void {
  for (const [socket, one] of connections) {
    if (one.isRead()) one.bytes = socket.bytesRead
    else if (socket.bytesRead - one.bytes > FRAMING_FREE_BYTES) one.onFlood()
  }
}
