/** A real HTTP/2 server on loopback (TLS, certificate good.pem) that writes down connections and requests. It takes HTTP/1.1 as well. */
import { readFileSync } from 'node:fs'
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { type AddressInfo, createServer, type Socket, connect as tcpConnect } from 'node:net'
import { afterAll } from 'vitest'

export type H2Asked = {
  path: string
  method: string
  /** `2.0` or `1.1` */
  version: string
  headers: Record<string, unknown>
  /** performance.now() */
  at: number
  /** when the answer was handed over as a whole; undefined: it was not */
  endedAt?: number
}
export type H2Origin = {
  origin: string
  port: number
  asked: H2Asked[]
  sessions: ServerHttp2Session[]
  server: Http2SecureServer
  /** most requests that were open at once */
  readonly most: number
  /** TCP connections accepted so far, and those open now */
  readonly connections: number
  readonly open: number
}
export type H2Answering = (request: Http2ServerRequest, response: Http2ServerResponse, nth: number) => void

/** @param options.holdConnections  called per connection; its bytes are passed on once the test says so */
export async function h2Origin(
  answer: H2Answering,
  options: { allowHTTP1?: boolean; host?: string; holdConnections?: (go: () => void, socket: Socket) => void } = {},
): Promise<H2Origin> {
  const pem = readFileSync(new URL('../certs/good.pem', import.meta.url))
  const asked: H2Asked[] = []
  const sessions: ServerHttp2Session[] = []
  let open = 0
  let most = 0
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createSecureServer({ key: pem, cert: pem, allowHTTP1: options.allowHTTP1 ?? true })
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => {})
  })
  server.on('tlsClientError', () => {})
  server.on('request', (request, response) => {
    const { url: path, method, httpVersion: version, headers } = request
    const one: H2Asked = { path, method, version, headers, at: performance.now() }
    asked.push(one)
    most = Math.max(most, ++open)
    response.on('finish', () => {
      one.endedAt = performance.now()
    })
    response.on('close', () => {
      open -= 1
    })
    response.on('error', () => {})
    request.on('error', () => {})
    answer(request, response, asked.length)
  })
  const hear = (socket: Socket): void => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }
  const host = options.host ?? '127.0.0.1'
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  let { port } = server.address() as AddressInfo
  let front: ReturnType<typeof createServer> | undefined
  if (options.holdConnections === undefined) server.on('connection', hear)
  else {
    const behind = port
    front = createServer((socket) => {
      hear(socket)
      socket.pause()
      options.holdConnections?.(() => {
        const inner = tcpConnect(behind, host)
        inner.on('error', () => socket.destroy())
        inner.on('close', () => socket.destroy())
        socket.on('close', () => inner.destroy())
        socket.pipe(inner).pipe(socket)
      }, socket)
    })
    await new Promise<void>((resolve) => front?.listen(0, host, resolve))
    port = (front.address() as AddressInfo).port
  }
  afterAll(() => {
    for (const session of sessions) session.destroy()
    for (const socket of sockets) socket.destroy()
    server.close()
    front?.close()
  })
  return {
    origin: `https://${host}:${port}`,
    port,
    asked,
    sessions,
    server,
    get most() {
      return most
    },
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
  }
}
