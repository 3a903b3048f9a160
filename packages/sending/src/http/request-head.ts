/** The request headers: few, always the same, without cookies or a referrer, plus the headers that a frontier requests. */
import type { Agent } from '@decorum/config'
import type { RequestShape } from '@decorum/protocol'
import type { Protocol } from './answer.ts'

/** Codings that decode.ts can read. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br, zstd'

/** @param codings  content codings that can be decoded; absent: the worker that sends the request sets Accept-Encoding */
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

/** The headers of a request without a `RequestShape`, in undici's form: name, value, name, value … */
export function headersOf(agent: Agent): string[] {
  let list = known.get(agent)
  if (list === undefined) {
    list = headersFor(agent, undefined, ACCEPTED_CODINGS).flat()
    known.set(agent, list)
  }
  return list
}

/**
 * The head of a GET, for the archive, as undici writes it to the socket (undici/lib/dispatcher/client-h1.js, writeH1); a head of HTTP/2 gets
 * the same form, as archives expect.
 */
export function requestHead(origin: string, path: string, headers: readonly string[], protocol: Protocol): string {
  const host = origin.slice(origin.indexOf('//') + 2)
  let head = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n`
  if (protocol !== 'h2') head += 'connection: keep-alive\r\n'
  for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${head}\r\n`
}
