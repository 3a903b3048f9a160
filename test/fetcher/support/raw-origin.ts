/** An origin that says whatever bytes a test wants, and remembers what it was asked. Loopback only. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll } from 'vitest'

export type Asked = { head: string; path: string /** performance.now() */; at: number; connection: number }
export type RawOrigin = {
  origin: string
  port: number
  asked: Asked[]
  /** connections accepted so far, and those open now */
  readonly connections: number
  readonly open: number
  /** octets written to sockets */
  readonly written: number
  close(): Promise<void>
}

export type Answering = (socket: Socket, asked: Asked, nth: number) => void

/**
 * @param answer  called per request head; a string is written as it stands and the connection stays open
 * @param options.cert  serve TLS with this file of test/fetcher/certs
 */
export async function rawOrigin(
  answer: Answering | string,
  options: { host?: string; cert?: string; onConnection?: (socket: Socket) => void } = {},
): Promise<RawOrigin> {
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  let written = 0
  const onSocket = (socket: Socket): void => {
    const connection = ++connections
    sockets.add(socket)
    socket.on('close', () => {
      sockets.delete(socket)
      written += socket.bytesWritten
    })
    socket.on('error', () => {})
    options.onConnection?.(socket)
    let head = ''
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      for (let end = head.indexOf('\r\n\r\n'); end >= 0; end = head.indexOf('\r\n\r\n')) {
        const one = { head: head.slice(0, end + 4), path: head.split(' ')[1] ?? '', at: performance.now(), connection }
        head = head.slice(end + 4)
        asked.push(one)
        if (typeof answer === 'string') socket.write(answer, 'latin1')
        else answer(socket, one, asked.length)
      }
    })
  }
  const pem =
    options.cert === undefined ? undefined : readFileSync(new URL(`../certs/${options.cert}.pem`, import.meta.url))
  const server: Server = pem === undefined ? createServer(onSocket) : createTlsServer({ key: pem, cert: pem }, onSocket)
  if (pem !== undefined) server.on('tlsClientError', () => {})
  const host = options.host ?? '127.0.0.1'
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  afterAll(close)
  const authority = host.includes(':') ? `[${host}]` : host
  return {
    origin: `${pem === undefined ? 'http' : 'https'}://${authority}:${port}`,
    port,
    asked,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    get written() {
      let sum = written
      for (const socket of sockets) sum += socket.bytesWritten
      return sum
    },
    close,
  }
}

/** A whole answer with its length. */
export const answerOf = (status: number, headers: Record<string, string> = {}, body: string | Buffer = ''): Buffer => {
  const lines = Object.entries({ 'content-length': String(Buffer.byteLength(body)), ...headers }).map(
    ([n, v]) => `${n}: ${v}\r\n`,
  )
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Fine\r\n${lines.join('')}\r\n`, 'latin1'), Buffer.from(body)])
}
