/** Memory for bodies of POST /v1/candidates: bounded over all of them, however slowly they come in. */
import type { ServerResponse } from 'node:http'

/** Largest body: about 150,000 URLs of 100 characters. */
export const BODY_MAX_BYTES = 16 * 1024 * 1024
/** All that are coming in or being stored; a body is a string, then lines, then jobs: several times its length. */
const ALL_BYTES = 4 * BODY_MAX_BYTES

/** As large as any other body may be: always let in. */
const SMALL_BYTES = 64 * 1024

/** One of unknown length counts as the largest. */
export function bodyRoom(): { acquire(contentLength: string | undefined, until: ServerResponse): boolean } {
  let taken = 0
  return {
    acquire(contentLength, until) {
      const bytes = contentLength === undefined ? BODY_MAX_BYTES : Math.min(Number(contentLength), BODY_MAX_BYTES)
      if (bytes <= SMALL_BYTES) return true
      if (taken + bytes > ALL_BYTES) return false
      taken += bytes
      until.once('close', () => {
        taken -= bytes
      })
      return true
    },
  }
}
