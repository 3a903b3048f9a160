/** Applies the shape of a candidate's request to its exchange. */

import type { Agent } from '@decorum/config'
import { contentTypeOf, isAccepted, type RequestShape } from '@decorum/protocol'
import { ACCEPTED_CODINGS, headersFor, headersOf } from '@decorum/sending/bodies'
import type { Ask } from '@decorum/sending/http'

/** The limits of the fleet; a candidate can only lower them. */
export type AskLimits = Pick<Ask, 'deadlineMs' | 'maxBytes'>

export function shapedAsk(
  agent: Agent,
  shape: RequestShape | undefined,
  limits: AskLimits,
): AskLimits & Pick<Ask, 'method' | 'headers' | 'wantsBody'> {
  if (shape === undefined) return { ...limits, headers: headersOf(agent) }
  const { method = 'GET', maxBytes, deadlineMs, accept, ...rest } = shape
  // headersFor and fetch-page.ts read these; the trace stays inside the fleet
  const { headers: _, ifNoneMatch: _1, ifModifiedSince: _2, redirects: _3, knownDigest: _4, ...others } = rest
  const { traceparent: _5, ...forgotten } = others
  forgotten satisfies Record<string, never>
  return {
    method,
    headers: headersFor(agent, shape, ACCEPTED_CODINGS).flat(),
    deadlineMs: Math.min(limits.deadlineMs, deadlineMs ?? Infinity),
    maxBytes: Math.min(limits.maxBytes, maxBytes ?? Infinity),
    ...(accept !== undefined && { wantsBody: (received) => isAccepted(accept, contentTypeOf(received)) }),
  }
}
