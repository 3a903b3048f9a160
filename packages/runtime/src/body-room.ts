/** Limits the memory for bodies of HTTP requests: bounded over all of them, however slowly they arrive. */
import type { ServerResponse } from 'node:http'

/** Smaller bodies are always accepted. */
export const SMALL_BYTES = 64 * 1024
/** Limits of the bodies that are arriving or in work, as a number of bodies of the largest size: of all callers together, and of one. */
const ALL = 4
const OF_ONE = 2

/**
 * @param mostBytes  the largest accepted body
 * @returns `acquire`: reserves room for a body until the response is closed, and returns false if there is none
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
    /** @param caller  the sender of the body, whose own limit leaves room for others; '': without such a limit */
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
