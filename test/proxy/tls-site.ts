/** A site over TLS at 127.0.0.1 that speaks HTTP/1.1 and HTTP/2, and writes down its connections and requests. */
import { readFileSync } from 'node:fs'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'

export type Visit = {
  path: string
  method: string
  version: string
  agent: string
  from: number
  to: number
  /** the answer was handed over whole: its receiver may have it before this process runs again and notes `to` */
  givenAt: number
  body: string
}
export type TlsSite = {
  origin: string
  port: number
  visits: Visit[]
  /** TCP connections, with a TLS hello or without */
  connections: { from: number; to: number }[]
}

/** Who signed the certificates of such sites; for NODE_EXTRA_CA_CERTS. */
export const CA_FILE = fileURLToPath(new URL('../fetcher/certs/ca.pem', import.meta.url))

/** @param certificate  a file of test/fetcher/certs, without .pem */
export async function tlsSite(
  answer: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  { certificate = 'good', robots }: { certificate?: string; robots?: string } = {},
): Promise<TlsSite> {
  const pem = readFileSync(new URL(`../fetcher/certs/${certificate}.pem`, import.meta.url))
  const visits: Visit[] = []
  const connections: TlsSite['connections'] = []
  const sockets = new Set<Socket>()
  const server = createSecureServer({ key: pem, cert: pem, allowHTTP1: true })
  server.on('connection', (socket: Socket) => {
    const one = { from: performance.now(), to: Number.POSITIVE_INFINITY }
    connections.push(one)
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      one.to = performance.now()
      sockets.delete(socket)
    })
  })
  server.on('tlsClientError', () => undefined)
  server.on('sessionError', () => undefined)
  server.on('request', (request, response) => {
    const { url: path, method, httpVersion: version, headers } = request
    const from = performance.now()
    const visit: Visit = {
      path,
      method,
      version,
      agent: headers['user-agent'] ?? '',
      from,
      to: Number.POSITIVE_INFINITY,
      givenAt: Number.POSITIVE_INFINITY,
      body: '',
    }
    visits.push(visit)
    request.on('data', (piece: Buffer) => (visit.body += piece))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    response.once('finish', () => (visit.to = performance.now()))
    const end = response.end as (...args: unknown[]) => typeof response
    response.end = (...args: unknown[]) => {
      visit.givenAt = performance.now()
      return end.apply(response, args)
    }
    if (path !== '/robots.txt') return answer(request, response)
    response.writeHead(robots === undefined ? 404 : 200).end(robots ?? '')
    return undefined
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  afterAll(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { origin: `https://127.0.0.1:${port}`, port, visits, connections }
}

/** Spans that overlap, and the shortest time between two, ms. */
export function spacing(spans: { from: number; to: number; givenAt?: number }[]): { overlaps: number; least: number } {
  const sorted = spans.toSorted((a, b) => a.from - b.from)
  let [overlaps, least, end, given] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { from, to, givenAt = to } of sorted) {
    if (from < end) overlaps++
    else least = Math.min(least, from - given)
    end = Math.max(end, to)
    given = Math.max(given, givenAt)
  }
  return { overlaps, least }
}
