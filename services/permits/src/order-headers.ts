/** The headers that a worker sends for an order: few, the same every time, and what the frontier asks for besides. */
import type { Agent } from '@decorum/config'
import type { RequestShape } from '@decorum/protocol'

/** Codings are the worker's business: it knows which it can read. */
export function headersFor(agent: Agent, shape: RequestShape | undefined): [string, string][] {
  const list: [string, string][] = [
    ['user-agent', agent.userAgent],
    ['accept', shape?.accept?.join(', ') ?? '*/*'],
  ]
  for (const [name, value] of Object.entries(shape?.headers ?? {})) list.push([name.toLowerCase(), value])
  if (shape?.ifNoneMatch !== undefined) list.push(['if-none-match', shape.ifNoneMatch])
  if (shape?.ifModifiedSince !== undefined) list.push(['if-modified-since', shape.ifModifiedSince])
  return list
}
