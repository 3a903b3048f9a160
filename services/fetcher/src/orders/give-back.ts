/**
 * The octets of bodies lie outside the heap of JavaScript, and their garbage is expensive: every 64 MB of them starts a
 * collection of the whole heap (measured: half of what a bare loop pays for a page of 100 KB). What is known to be
 * needed no more is given back at once, and such a collection is not started at all.
 */
import { isMarkedAsUntransferable } from 'node:worker_threads'

/** Below, the call costs more than the collection does. */
const WORTH_BYTES = 8 * 1024

let done: ArrayBuffer[] = []

/**
 * Gives back the memory under a chunk as undici handed it over. The caller knows that nobody reads it any more, but for
 * the parser that is still in it: so it happens after this tick, and the next socket is read into memory that is warm.
 */
export function giveBack({ buffer }: Uint8Array): void {
  // Node marks the memory that its small Buffers share.
  if (buffer.byteLength < WORTH_BYTES || !(buffer instanceof ArrayBuffer) || isMarkedAsUntransferable(buffer)) return
  if (done.push(buffer) === 1) process.nextTick(giveAllBack)
}

function giveAllBack(): void {
  const buffers = done
  done = []
  for (const buffer of buffers) if (!buffer.detached) buffer.transfer(0)
}
