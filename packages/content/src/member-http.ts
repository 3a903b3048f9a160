/** The bytes of one gzip member from the process that keeps it, or from the console's API. */

import type { ProblemBody } from '@decorum/protocol'
import { type Clock, systemClock } from '@decorum/protocol/time'
import { startOf, wholeBody } from './answer.ts'
import { ContentError, type ContentErrorCode } from './errors.ts'
import { CONTENT_PATH } from './reference.ts'

export type Keeper = {
  /** scheme, host and port */
  base: string
  /** the value of an Authorization header, if one is needed */
  authorization?: string | undefined
}

/**
 * @param from  the first byte, if not the whole member is wanted
 * @param length  of the member, or of the part that begins at `from`
 * @throws ContentError as the process answers, `unavailable` when it does not answer
 */
export function fetchMember(
  { base, authorization }: Keeper,
  reference: string,
  length: number,
  { clock = systemClock, from }: { clock?: Clock; from?: number | undefined } = {},
): AsyncGenerator<Uint8Array> {
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(from === undefined ? {} : { range: `bytes=${from}-${from + length - 1}` }),
  }
  const request = async (signal: AbortSignal): Promise<Response> => {
    const response = await fetch(`${base}${CONTENT_PATH}?ref=${encodeURIComponent(reference)}`, {
      headers,
      redirect: 'error', // a redirect must not pass on the token
      signal,
    })
    if (response.status !== (from === undefined ? 200 : 206)) throw await problemOf(response, base)
    return response
  }
  return wholeBody(`${base} does not give ${reference}`, request, length, clock)
}

/** Errors that a process of the fleet may answer with. */
const REPORTED: readonly unknown[] = [
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
  const text = await startOf(response)
  let problem: Partial<Record<keyof ProblemBody, unknown>> = {}
  try {
    problem = JSON.parse(text) as typeof problem
  } catch {
    // the answer is not from a process of the fleet; only its status can be reported
  }
  const code = REPORTED.includes(problem.type)
    ? (problem.type as ContentErrorCode)
    : (CODES[response.status] ?? 'unavailable')
  const explanation = typeof problem.detail === 'string' ? `: ${problem.detail}` : ''
  return new ContentError(code, `${base} answers ${response.status}${explanation}`)
}
