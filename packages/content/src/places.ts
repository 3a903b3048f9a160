/** A record may be in one of several places. */
import { ContentError } from './errors.ts'

/** Reads a member from one position to another, both included; without positions as a whole. @throws before the first piece */
export type ReadMember = (from?: number, to?: number) => AsyncIterable<Uint8Array>

/**
 * Uses the first place that has the record.
 * @throws ContentError  the error of the first unreachable place, which may have the record; if all are reachable, that of the last one
 */
export async function atFirstPlace<T>(
  places: readonly ReadMember[],
  use: (read: ReadMember) => Promise<T>,
): Promise<T> {
  let failed = new ContentError('gone', 'no place is known that has the record')
  for (const place of places) {
    try {
      return await use(place)
    } catch (error) {
      if (!(error instanceof ContentError)) throw error
      if (failed.code !== 'unavailable') failed = error
    }
  }
  throw failed
}
