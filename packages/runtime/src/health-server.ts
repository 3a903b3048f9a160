/** The HTTP server of a role process for `/livez`, `/readyz` and `/metrics`. It listens on loopback unless HOST says otherwise. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listenError } from './listen-error.ts'
import { http } from './node-http.ts'
import type { Registry } from './prom-client.ts'

type HealthServerOptions = {
  port: number
  host?: string | undefined
  registry: Registry
  /** Redis answers. Not part of /livez, because a restart would not bring Redis back. */
  ready: () => boolean
  /** answers other requests of this process; false: it does not answer this one */
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
  const server = http.createServer((request, response) => {
    if (also(request, response)) return
    const answer = (status: number, text: string, type = 'text/plain'): void => {
      response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(text)
    }
    switch (request.url) {
      case '/livez':
        return answer(200, 'alive\n')
      case '/readyz':
        return ready() ? answer(200, 'ready\n') : answer(503, 'Redis does not answer\n')
      case '/metrics':
        registry.metrics().then(
          (text) => answer(200, text, 'text/plain; version=0.0.4'),
          (error: unknown) => answer(500, `${String(error)}\n`),
        )
        return
      default:
        return answer(404, 'there are /livez, /readyz and /metrics\n')
    }
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
