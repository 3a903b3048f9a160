/** Memory for bodies of HTTP requests: bounded over all of them, however slowly they come in. */
import type { ServerResponse } from 'node:http'

/** Bodies up to this are always let in. */
export const SMALL_BYTES = 64 * 1024
/** Largest bodies that all callers together may have coming in or being worked on, and one caller by himself. */
const ALL = 4
const OF_ONE = 2

/**
 * @param mostBytes  the largest body that is taken
 * @returns `acquire`: whether there is room; what was taken is free again when the answer is closed
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
    /** @param caller  whose body it is: one caller leaves room for others */
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
