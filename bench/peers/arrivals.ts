/**
 * Loaded into the proxy by the bench (NODE_OPTIONS --import): writes down when each request for a page came to it, also within a tunnel, and
 * when it had been answered or its client had gone. The proxy itself is unchanged; Node says so on a diagnostics channel.
 */
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { TLSSocket } from 'node:tls'
import { now } from '@decorum/cli/synthetic-web/clock'
import type { Arrival } from './share.ts'

const file = process.env.PEER_ARRIVALS
const lines: string[] = []
const flush = (): void => {
  if (file !== undefined && lines.length > 0) appendFileSync(file, lines.splice(0).join(''))
}
function arrived(url: string, answered: (over: () => void) => void): void {
  const { hostname, pathname } = new URL(url)
  if (!hostname.endsWith('.test') || pathname === '/robots.txt') return
  const at = now()
  answered(() => lines.push(`${JSON.stringify({ url, at, end: now() } satisfies Arrival)}\n`))
}
if (file !== undefined) {
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    const path = request.url ?? ''
    // Within a tunnel it is a path, and so it is in what the proxy is asked for itself, which is at an address
    const scheme = request.socket instanceof TLSSocket ? 'https' : 'http'
    const url = path.startsWith('/') ? `${scheme}://${request.headers.host}${path}` : path
    arrived(url, (over) => response.once('close', over))
  })
  // HTTP/2 is spoken within tunnels alone
  subscribe('http2.server.stream.start', (message) => {
    const { stream, headers } = message as { stream: ServerHttp2Stream; headers: IncomingHttpHeaders }
    arrived(`https://${headers[':authority']}${headers[':path']}`, (over) => stream.once('finish', over))
  })
  setInterval(flush, 200).unref()
  process.once('exit', flush)
}
