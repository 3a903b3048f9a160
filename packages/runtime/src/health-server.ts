/** The HTTP server of a role process for `/livez`, `/readyz` and `/metrics`. It listens on loopback unless HOST says otherwise. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listenError } from './listen-error.ts'
import { http } from './node-http.ts'
import type { Registry } from './prometheus.ts'

type HealthServerOptions = {
  port: number
  host?: string | undefined
  registry: Registry
  /** Whether Redis answers. Not part of /livez, because a restart would not bring Redis back. */
  ready: () => boolean
  /** answers further requests to this process. @returns whether it answered this one */
  also?: (request: IncomingMessage, response: ServerResponse) => boolean
}

type HealthServer = { port: number; close(): Promise<void> }

/** @throws Error with a message for people, and the `code` of the system, when the port is not available */
export async function openHealthServer({
  port,
  host = '127.0.0.1',
  registry,
  ready,
  also = () => false,
}: HealthServerOptions): Promise<HealthServer> {
  const health = answersHealth(registry, ready)
  const server = http.createServer((request, response) => {
    if (also(request, response) || health(request, response)) return
    response.writeHead(404, TEXT).end('there are /livez, /readyz and /metrics\n')
  })
  server.listen(port, host)
  await once(server, 'listening').catch((error: unknown) => {
    throw listenError(error, host, port)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' }
const METRICS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

/** Answers the three requests about a process. @returns whether it answered the request */
export function answersHealth(registry: Registry, ready: () => boolean) {
  return ({ url }: IncomingMessage, response: ServerResponse): boolean => {
    if (url === '/livez') response.writeHead(200, TEXT).end('alive\n')
    else if (url === '/readyz' && ready()) response.writeHead(200, TEXT).end('ready\n')
    else if (url === '/readyz') response.writeHead(503, TEXT).end('Redis does not answer\n')
    else if (url === '/metrics')
      registry.metrics().then(
        (text) => response.writeHead(200, METRICS).end(text),
        (error: unknown) => response.writeHead(500, TEXT).end(`${String(error)}\n`),
      )
    else return false
    return true
  }
}
