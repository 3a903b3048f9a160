/** Bodies of answers over HTTP: one of a known length, from a place that may be slow or silent; and the start of any. */
import type { Clock, Timer } from '@decorum/protocol/time'
import { ContentError } from './errors.ts'

const ANSWER_WITHIN_MS = 10_000
/** A place that sends nothing for this long counts as unreachable. */
const SILENT_MS = 30_000

/**
 * Yields a body that has `length` bytes.
 * @param request  throws a ContentError for an answer without such a body
 * @param failed   the error to throw for any other one; `reason`: why the request was given up, if it was
 */
export async function* wholeBody(
  request: (signal: AbortSignal) => Promise<Response>,
  length: number,
  clock: Clock,
  failed: (error: Error, reason: Error | undefined) => ContentError,
): AsyncGenerator<Uint8Array> {
  const giveUp = new AbortController()
  const giveUpAfter = (ms: number, why: string): Timer => clock.timeout(() => giveUp.abort(new Error(why)), ms)
  let timer = giveUpAfter(ANSWER_WITHIN_MS, 'no answer')
  try {
    let received = 0
    for await (const chunk of (await request(giveUp.signal)).body ?? []) {
      clock.cancel(timer)
      received += chunk.length
      if (received > length) throw new Error(`more than ${length} bytes came`)
      yield chunk
      timer = giveUpAfter(SILENT_MS, 'no more bytes came')
    }
    if (received !== length) throw new Error(`${received} of ${length} bytes came`)
  } catch (error) {
    throw error instanceof ContentError ? error : failed(error as Error, giveUp.signal.reason as Error | undefined)
  } finally {
    clock.cancel(timer)
    giveUp.abort()
  }
}

/**
 * The first bytes of an answer as text; the rest is not read. If the answer breaks off, returns the part that arrived. Never rejects.
 */
export async function startOf({ body }: Response, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of body ?? []) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes >= maxBytes) break
    }
  } catch {
    // the status and the part that arrived are enough
  }
  return Buffer.concat(pieces).toString('utf8', 0, maxBytes)
}
