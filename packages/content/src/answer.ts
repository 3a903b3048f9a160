/** Reads bodies of HTTP answers: a whole one of known length, from a place that may be slow or silent; or only the start. */
import type { Clock, Timer } from '@decorum/protocol/time'
import { ByteInput } from './coding/byte-input.ts'
import { ContentError } from './errors.ts'

const ANSWER_WITHIN_MS = 10_000
/** A place that sends nothing for this long counts as unreachable. */
const SILENT_MS = 30_000
const START_BYTES = 4_096

/**
 * Yields a body that has `length` bytes.
 * @param what     begins the message of an error
 * @param request  throws a ContentError for an answer without such a body
 * @throws ContentError `unavailable` for any other error
 */
export async function* wholeBody(
  what: string,
  request: (signal: AbortSignal) => Promise<Response>,
  length: number,
  clock: Clock,
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
    if (error instanceof ContentError) throw error
    const why = (giveUp.signal.reason ?? error) as Error
    const { message } = (why.cause ?? why) as Error // fetch itself says only that it failed
    throw new ContentError('unavailable', `${what}: ${message}`, error)
  } finally {
    clock.cancel(timer)
    giveUp.abort()
  }
}

/** The first bytes of an answer as text; '' if it breaks off. The rest is not read. */
export async function startOf({ body }: Response): Promise<string> {
  const input = new ByteInput(body ?? [])
  try {
    return (await input.peek(START_BYTES)).toString('utf8', 0, START_BYTES)
  } catch {
    return '' // the status is enough
  } finally {
    await input.close()
  }
}
