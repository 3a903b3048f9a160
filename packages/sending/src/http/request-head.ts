/** The request headers: few, the same every time, without cookies or a referrer. What a frontier asks for besides: page/shaped-ask.ts. */
import type { Agent } from '@decorum/config'
import type { Protocol } from './answer.ts'

/** The codings that decode.ts reads. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br, zstd'

const known = new WeakMap<Agent, string[]>()

/** The headers of an agent, as undici takes them: name, value, name, value … */
export function headersOf(agent: Agent): string[] {
  let list = known.get(agent)
  if (list === undefined) {
    list = ['user-agent', agent.userAgent, 'accept', '*/*', 'accept-encoding', ACCEPTED_CODINGS]
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
  if (protocol === 'http/1.1') head += 'connection: keep-alive\r\n'
  for (let i = 0; i + 1 < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${head}\r\n`
}
