/** Limits the memory for bodies of HTTP requests: bounded over all of them, however slowly they arrive. */
import type { ServerResponse } from 'node:http'

/** Smaller bodies are always accepted. */
export const SMALL_BYTES = 64 * 1024
/** Number of largest bodies that all callers together may have arriving or in work, and that one caller may have. */
const ALL = 4
const OF_ONE = 2

/**
 * @param mostBytes  the largest accepted body
 * @returns `acquire`: whether there is room; it is released when the response is closed
 */
export function bodyRoom(mostBytes: number) {
  let all = 0
  const taken = new Map<string, number>()
  const add = (bytes: number, caller: string): void => {
    all += bytes
    const left = (taken.get(caller) ?? 0) + bytes
    if (left > 0) taken.set(caller, left)
    else taken.delete(caller)
  }
  return {
    /** @param caller  the sender of the body: one caller leaves room for others */
    acquire(bytes: number, until: ServerResponse, caller = ''): boolean {
      if (bytes <= SMALL_BYTES) return true
      const isFull = all + bytes > ALL * mostBytes
      if (isFull || (caller !== '' && (taken.get(caller) ?? 0) + bytes > OF_ONE * mostBytes)) return false
      add(bytes, caller)
      until.once('close', () => add(-bytes, caller))
      return true
    },
  }
}
