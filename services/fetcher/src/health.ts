/** /livez (the loop turns), /readyz (the ledger answers, the process is not stopping), /metrics. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'

export type Health = { port: number; close(): Promise<void> }

/** @param notReady  why no work can be done now, or undefined. @throws when the port is taken */
export async function openHealth(
  host: string,
  port: number,
  registry: Registry,
  notReady: () => string | undefined,
): Promise<Health> {
  const server = createServer(async (request, response) => {
    const say = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text)
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'GET only\n')
    switch (request.url?.split('?')[0]) {
      case '/livez':
        return say(200, 'ok\n')
      case '/readyz': {
        const why = notReady()
        return say(why === undefined ? 200 : 503, `${why ?? 'ok'}\n`)
      }
      case '/metrics':
        return say(200, await registry.metrics(), registry.contentType)
      default:
        return say(404, 'livez, readyz, metrics\n')
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
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
