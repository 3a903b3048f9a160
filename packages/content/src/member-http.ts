/** The bytes of one gzip member from the process that keeps it, or from the console's API. */

import type { ProblemBody } from '@decorum/protocol'
import { type Clock, systemClock } from '@decorum/protocol/time'
import { startOf, wholeBody } from './answer.ts'
import { ContentError, type ContentErrorCode, STATUS } from './errors.ts'
import { CONTENT_PATH } from './reference.ts'

export type Keeper = {
  /** scheme, host and port */
  base: string
  /** the value of an Authorization header, if one is needed */
  authorization?: string | undefined
}

/**
 * @param length  of the member. @param from  first byte of it that is wanted. @param to  last one
 * @throws ContentError as the process answers, `unavailable` when it does not answer
 */
export function fetchMember(
  { base, authorization }: Keeper,
  reference: string,
  length: number,
  { clock = systemClock, from = 0, to = length - 1 }: { clock?: Clock; from?: number; to?: number } = {},
): AsyncGenerator<Uint8Array> {
  const wanted = to - from + 1
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(wanted === length ? {} : { range: `bytes=${from}-${to}` }),
  }
  const request = async (signal: AbortSignal): Promise<Response> => {
    const response = await fetch(`${base}${CONTENT_PATH}?ref=${encodeURIComponent(reference)}`, {
      headers,
      redirect: 'error', // a redirect must not pass on the token
      signal,
    })
    if (response.status !== (wanted === length ? 200 : 206)) throw await problemOf(response, base)
    return response
  }
  return wholeBody(`${base} does not give ${reference}`, request, wanted, clock)
}

const CODES = Object.keys(STATUS) as ContentErrorCode[]

async function problemOf(response: Response, base: string): Promise<ContentError> {
  const text = await startOf(response)
  let problem: Partial<Record<keyof ProblemBody, unknown>> = {}
  try {
    problem = JSON.parse(text) as typeof problem
  } catch {
    // the answer is not from a process of the fleet; only its status can be reported
  }
  const status = response.status === 401 ? STATUS.forbidden : response.status
  const code = CODES.find((one) => one === problem.type) ?? CODES.find((one) => STATUS[one] === status)
  const explanation = typeof problem.detail === 'string' ? `: ${problem.detail}` : ''
  return new ContentError(code ?? 'unavailable', `${base} answers ${response.status}${explanation}`)
}
