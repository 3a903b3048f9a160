/**
 * The HTTP side of the proxy: an HTTP/1.1 forward proxy (RFC 9112 §3.2.2), the kind that `http_proxy` names. A request in absolute form is
 * forwarded; one for the proxy itself is answered with its health and its counts; everything else is refused with a sentence.
 */
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { isLoopback } from '@decorum/config'
import { namesRobotsTxt, REQUEST_HEAD_BYTES } from '@decorum/protocol'
import { answersHealth, listenError, type Traces } from '@decorum/runtime'
import { http } from '@decorum/runtime/node-http'
import type { Registry } from '@decorum/runtime/prometheus'
import type { Wish } from '@decorum/sending/granting'
import type { Logger } from 'pino'
import { forward } from './forward.ts'
import { type Inner, type Inside, urlWithin } from './inspect.ts'
import { type ClientRequest, overHttp1, type Reply } from './message.ts'
import type { Parts } from './parts.ts'
import { kindOf, type Refusal, refusalOf, refusalText, refuse } from './refuse.ts'
import { answerRobots } from './robots.ts'
import { connect } from './tunnel.ts'
import { wishOf } from './wish.ts'

/** A head that is incomplete after this time ends its connection. Bodies may take longer: they wait with their request. */
const HEADERS_WITHIN_MS = 10_000
/** Longer than common clients keep an idle connection. */
const KEEP_ALIVE_MS = 72_000

export type ProxyServerParts = Parts & { registry: Registry; ready: () => boolean; traces: Traces; log: Logger }

export type ProxyServer = {
  server: Server
  /** the requests and tunnels in progress; each promise resolves at its end */
  ended: () => Promise<void>[]
  /** accepts nothing new: connections end with their requests */
  close: () => void
  /** ends what is still in progress, as if its client had gone */
  closeAll: () => void
}

export function buildServer(parts: ProxyServerParts): ProxyServer {
  const running = new Set<Promise<void>>()
  /** connections that requested a tunnel: Node no longer counts them as the server's */
  const tunnelled = new Set<Socket>()
  const own = answersOwn(parts)
  const track = (work: Promise<void>): void => {
    const one = work.finally(() => running.delete(one))
    running.add(one)
  }
  const run = (request: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => undefined) // the close event is handled
    const within = inner.of.get(request.socket)
    if (request.url?.startsWith('/') && within === undefined) {
      own(request, response)
      return
    }
    const { incoming, reply } = overHttp1(request, response)
    if (request.httpVersion === '1.0' && request.headers['transfer-encoding'] !== undefined) {
      response.shouldKeepAlive = false // the end of its body is ambiguous (RFC 9112 §6.1)
      parts.tally.refused(undefined, 'bad-request')
      refuse(reply, badRequest('HTTP/1.0 has no Transfer-Encoding'))
      return
    }
    track(serve(incoming, reply, within, parts))
  }
  const server = http.createServer(
    {
      maxHeaderSize: REQUEST_HEAD_BYTES,
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 1_000,
      insecureHTTPParser: false,
    },
    run,
  )
  server.maxHeadersCount = 0 // Node would drop further fields, one of which may announce a body; their bytes are limited
  server.on('checkContinue', run)
  server.on('checkExpectation', (request, response) =>
    refuse(overHttp1(request, response).reply, {
      status: 417,
      type: 'expectation',
      error: 'http_request_error',
      detail: 'only 100-continue is understood',
    }),
  )
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => endBadClient(error, socket as Socket))
  server.on('connect', (request: IncomingMessage, socket: Socket, early: Buffer) => {
    if (inner.of.has(socket))
      socket.end(refusalText(badRequest('inside a tunnel a request names a path, not a whole URL')))
    else {
      tunnelled.add(socket.once('close', () => tunnelled.delete(socket)))
      track(connect({ request, socket, early }, { ...parts, inner }))
    }
  })
  const sessions: Inner['sessions'] = new Set()
  const inner: Inner = {
    server,
    of: new WeakMap(),
    sessions,
    serve: (incoming, reply, within) => track(serve(incoming, reply, within, parts)),
  }
  return {
    server,
    ended: () => [...running],
    close() {
      server.close()
      for (const session of sessions) session.close()
    },
    closeAll() {
      server.closeAllConnections()
      for (const socket of tunnelled) socket.destroy()
      for (const session of sessions) session.destroy()
    },
  }
}

/** @param within  the tunnel that it arrived through, if any */
async function serve(
  incoming: ClientRequest,
  reply: Reply,
  within: Inside | undefined,
  parts: ProxyServerParts,
): Promise<void> {
  const { tally, traces, log } = parts
  const { method, headers } = incoming
  let wish: Wish | undefined
  const attributes = () => ({ 'http.request.method': method, 'url.full': wish?.url ?? incoming.url })
  const traceparent = headers.traceparent as string | undefined
  const begunAt = traceparent === undefined ? 0 : parts.tools.ledger.clock.machine()
  let decision: string
  try {
    const client = within?.client ?? parts.clientOf(headers['proxy-authorization'])
    wish = wishOf(within === undefined ? incoming.url : urlWithin(within, incoming), incoming, client, parts)
    tally.came(wish)
    if (namesOwnRobots(method, wish)) {
      decision = await answerRobots(wish, method === 'HEAD', reply, parts.tools)
      if (decision === 'robots') tally.robots(wish)
      else tally.refused(wish, decision)
    } else decision = await forward({ wish, client, incoming, reply }, parts)
  } catch (error) {
    if (reply.destroyed) {
      decision = 'gone'
      tally.ended('gone')
    } else {
      const refusal = refusalOf(error, log)
      decision = kindOf(refusal)
      tally.refused(wish, decision)
      refuse(reply, refusal)
    }
  }
  if (traceparent === undefined) return
  const span = traces.span('decorum.proxy', { traceparent }, attributes, begunAt)
  span?.set({ 'decorum.decision': decision })
  span?.end()
}

const namesOwnRobots = (method: string, { path }: Wish): boolean =>
  (method === 'GET' || method === 'HEAD') && namesRobotsTxt(path)

const badRequest = (detail: string): Refusal => ({
  status: 400,
  type: 'bad-request',
  error: 'http_request_error',
  detail,
})

/** Requests for the proxy itself: from this machine, or from monitoring. */
function answersOwn({ registry, ready, tally, authority }: ProxyServerParts) {
  const health = answersHealth(registry, ready)
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (health(request, response)) return
    // The counts name sites, so only this machine may read them
    const isNear = isLoopback((request.socket.remoteAddress ?? '').replace(/^::ffff:/i, ''))
    if (request.url === '/v1/ca.pem' && authority !== undefined)
      response.writeHead(200, { 'content-type': 'application/x-pem-file' }).end(authority.certificate)
    else if (request.url === '/v1/counts' && isNear)
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tally.now()))
    else
      refuse(overHttp1(request, response).reply, {
        status: request.url === '/v1/counts' ? 403 : 400,
        type: 'bad-request',
        error: 'http_request_error',
        detail:
          'this is a proxy: it is sent the whole URL (http_proxy); of its own it has /livez, /readyz, /metrics and /v1/ca.pem, and for this machine /v1/counts',
      })
  }
}

function endBadClient(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, what] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'its head is too large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'its head did not come in time']
        : [400, 'it is not HTTP/1.1 as RFC 9112 has it']
  socket.end(refusalText({ ...badRequest(`this request cannot be read: ${what}`), status }))
}

export async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    throw listenError(error, host, port)
  })
  return (server.address() as AddressInfo).port
}
