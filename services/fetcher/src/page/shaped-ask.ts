/** What the shape of a candidate's request means for its exchange. */

import type { Agent } from '@decorum/config'
import { isAccepted, type RequestShape, single } from '@decorum/protocol'
import { ACCEPTED_CODINGS, headersOf } from '@decorum/sending/bodies'
import type { Ask } from '@decorum/sending/http'

/** The limits of the fleet, which a candidate can only lower. */
export type AskLimits = Pick<Ask, 'deadlineMs' | 'maxBytes'>

export function shapedAsk(
  agent: Agent,
  shape: RequestShape | undefined,
  limits: AskLimits,
): AskLimits & Pick<Ask, 'method' | 'headers' | 'wantsBody'> {
  if (shape === undefined) return { ...limits, headers: headersOf(agent) }
  const { method = 'GET', headers = {}, ifNoneMatch, ifModifiedSince, maxBytes, deadlineMs, accept, ...rest } = shape
  // read-page.ts reads the first two, and a trace is the fleet's own affair
  const { redirects: _, knownDigest: __, traceparent: ___, ...forgotten } = rest
  forgotten satisfies Record<string, never>
  const types = accept?.join(', ') ?? '*/*'
  const list = ['user-agent', agent.userAgent, 'accept', types, 'accept-encoding', ACCEPTED_CODINGS]
  for (const [name, value] of Object.entries(headers)) list.push(name.toLowerCase(), value)
  if (ifNoneMatch !== undefined) list.push('if-none-match', ifNoneMatch)
  if (ifModifiedSince !== undefined) list.push('if-modified-since', ifModifiedSince)
  return {
    method,
    headers: list,
    deadlineMs: Math.min(limits.deadlineMs, deadlineMs ?? Infinity),
    maxBytes: Math.min(limits.maxBytes, maxBytes ?? Infinity),
    ...(accept !== undefined && { wantsBody: (received) => isAccepted(accept, single(received, 'content-type')) }),
  }
}
