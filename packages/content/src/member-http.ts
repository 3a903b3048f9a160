/** The bytes of one gzip member from the process that keeps it, or from the console's API. */

import type { ProblemBody } from '@decorum/protocol'
import { type Clock, systemClock } from '@decorum/protocol/time'
import { startOf } from './answer-start.ts'
import { ContentError, type ContentErrorCode } from './errors.ts'
import { CONTENT_PATH } from './reference.ts'

export type Keeper = {
  /** scheme, host and port */
  base: string
  /** the value of an Authorization header, if one is needed */
  authorization?: string | undefined
}

const ANSWER_WITHIN_MS = 10_000
/** A process that sends nothing for this long counts as unreachable. */
const SILENT_MS = 30_000
const MAX_PROBLEM_BYTES = 4_096

/** @throws ContentError as the process answers, `unavailable` when it does not answer */
export async function* fetchMember(
  { base, authorization }: Keeper,
  reference: string,
  length: number,
  clock: Clock = systemClock,
): AsyncGenerator<Uint8Array> {
  const giveUp = new AbortController()
  let timer = clock.timeout(() => giveUp.abort(new Error('no answer')), ANSWER_WITHIN_MS)
  const unavailable = (error: unknown): ContentError => {
    const why = giveUp.signal.aborted ? (giveUp.signal.reason as Error) : (error as Error)
    return new ContentError(
      'unavailable',
      `${base} does not give ${reference}: ${(why.cause as Error)?.message ?? why.message}`,
      error,
    )
  }
  try {
    const response = await fetch(`${base}${CONTENT_PATH}?ref=${encodeURIComponent(reference)}`, {
      headers: authorization === undefined ? {} : { authorization },
      redirect: 'error', // a redirect must not pass on the token
      signal: giveUp.signal,
    }).catch((error: unknown) => {
      throw unavailable(error)
    })
    if (response.status !== 200) throw await problemOf(response, base)
    let received = 0
    try {
      for await (const chunk of response.body ?? []) {
        clock.cancel(timer)
        received += chunk.length
        if (received > length) throw new Error(`more than ${length} bytes came`)
        yield chunk
        timer = clock.timeout(() => giveUp.abort(new Error('no more bytes came')), SILENT_MS)
      }
    } catch (error) {
      throw unavailable(error)
    }
    if (received !== length)
      throw new ContentError('unavailable', `${base} sent ${received} of ${length} bytes of ${reference}`)
  } finally {
    clock.cancel(timer)
    giveUp.abort()
  }
}

/** Errors that a process of the fleet may answer with. */
const TOLD: readonly unknown[] = [
  'bad-reference',
  'gone',
  'elsewhere',
  'damaged',
  'unavailable',
] satisfies ContentErrorCode[]
const CODES: Record<number, ContentErrorCode> = {
  400: 'bad-reference',
  401: 'forbidden',
  403: 'forbidden',
  404: 'gone',
  410: 'gone',
}

async function problemOf(response: Response, base: string): Promise<ContentError> {
  const text = await startOf(response, MAX_PROBLEM_BYTES)
  let problem: Partial<Record<keyof ProblemBody, unknown>> = {}
  try {
    problem = JSON.parse(text) as typeof problem
  } catch {
    // the answer is not from a process of the fleet; only its status can be reported
  }
  const code = TOLD.includes(problem.type)
    ? (problem.type as ContentErrorCode)
    : (CODES[response.status] ?? 'unavailable')
  const said = typeof problem.detail === 'string' ? `: ${problem.detail}` : ''
  return new ContentError(code, `${base} answers ${response.status}${said}`)
}
