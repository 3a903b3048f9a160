/** A client that speaks HTTP/2 through a tunnel of a proxy that looks into it. */
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { onTestFinished } from 'vitest'
import { get } from './fleet.ts'

/** What is behind CONNECT, before TLS. */
export async function tunnel(proxy: string, host: string): Promise<Socket> {
  const socket = connectTcp(Number(new URL(proxy).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const [said] = (await once(socket, 'data')) as [Buffer]
  if (!String(said).startsWith('HTTP/1.1 200 ')) throw new Error(String(said))
  return socket
}

/** TLS within a tunnel, with trust in the authority of the proxy. */
export async function secured(proxy: string, origin: string, protocols = ['h2', 'http/1.1']): Promise<TLSSocket> {
  const { host, hostname } = new URL(origin)
  const [socket, ca] = await Promise.all([tunnel(proxy, host), get(proxy, '/v1/ca.pem')])
  const tls = connectTls({ socket, ca: ca.body, host: hostname, ALPNProtocols: protocols })
  tls.on('error', () => undefined)
  await once(tls, 'secureConnect')
  return tls
}

export async function h2Session(proxy: string, origin: string, options = {}): Promise<ClientHttp2Session> {
  const tls = await secured(proxy, origin)
  const session = connect(origin, { createConnection: () => tls, ...options })
  session.on('error', () => undefined)
  await once(session, 'remoteSettings')
  return session
}

export type H2Got = {
  status: number
  headers: Record<string, unknown>
  raw: string[]
  trailers: Record<string, unknown>
  body: string
}

/** @returns the stream, and what comes of it: rejects when it does not end well */
export function ask(
  session: ClientHttp2Session,
  path: string,
  headers: OutgoingHttpHeaders = {},
  body?: Uint8Array | 'later',
): { stream: ClientHttp2Stream; got: Promise<H2Got> } {
  const stream = session.request({ ':path': path, ...headers }, { endStream: body === undefined })
  if (body instanceof Uint8Array) stream.end(body)
  const got: H2Got = { status: 0, headers: {}, raw: [], trailers: {}, body: '' }
  stream.on('response', (answer, _flags, ...[raw]: unknown[]) => {
    Object.assign(got, { status: answer[':status'], headers: { ...answer }, raw })
  })
  stream.on('trailers', (trailers) => Object.assign(got.trailers, trailers))
  const result = new Promise<H2Got>((resolve, reject) => {
    stream.once('error', reject)
    stream.once('close', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && got.status !== 0) resolve(got)
      else reject(new Error(`ended with ${stream.rstCode}`))
    })
  })
  result.catch(() => undefined)
  stream.on('data', (piece: Buffer) => (got.body += piece))
  return { stream, got: result }
}
