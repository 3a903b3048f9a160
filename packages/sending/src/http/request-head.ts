/** The request headers: few, the same every time, without cookies or a referrer, and what a frontier asks for besides. */
import type { Agent } from '@decorum/config'
import type { RequestShape } from '@decorum/protocol'
import type { Protocol } from './answer.ts'

/** The codings that decode.ts reads. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br, zstd'

/** @param codings  that are read; absent: whoever sends the request names its own */
export function headersFor(agent: Agent, shape: RequestShape = {}, codings?: string): [string, string][] {
  const { accept = ['*/*'], headers = {}, ifNoneMatch, ifModifiedSince } = shape
  const list: [string, string][] = [
    ['user-agent', agent.userAgent],
    ['accept', accept.join(', ')],
  ]
  if (codings !== undefined) list.push(['accept-encoding', codings])
  for (const [name, value] of Object.entries(headers)) list.push([name.toLowerCase(), value])
  if (ifNoneMatch !== undefined) list.push(['if-none-match', ifNoneMatch])
  if (ifModifiedSince !== undefined) list.push(['if-modified-since', ifModifiedSince])
  return list
}

const known = new WeakMap<Agent, string[]>()

/** Those of a request without a shape, as undici takes them: name, value, name, value … */
export function headersOf(agent: Agent): string[] {
  let list = known.get(agent)
  if (list === undefined) {
    list = headersFor(agent, undefined, ACCEPTED_CODINGS).flat()
    known.set(agent, list)
  }
  return list
}

/**
 * The head of a GET as undici writes it to the socket (undici/lib/dispatcher/client-h1.js, writeH1), for the archive; that of HTTP/2 in
 * the same form, as archives have it.
 */
export function requestHead(origin: string, path: string, headers: readonly string[], protocol: Protocol): string {
  const host = origin.slice(origin.indexOf('//') + 2)
  let head = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n`
  if (protocol !== 'h2') head += 'connection: keep-alive\r\n'
  for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${head}\r\n`
}
