/** A site that also records request headers, and gives answers that sites of synthetic-web/ cannot give. */
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { http } from '@decorum/runtime/node-http'

export type ReceivedHeaders = { method: string; path: string; headers: IncomingHttpHeaders }

/** The decoded body of /gzip. */
export const PLAIN = '<p>a page that was sent compressed</p>\n'.repeat(200)
/** The announced length of /cut; half of it is sent. */
export const CUT_BYTES = 4_000
const ADDRESS = '127.41.0.1'

export async function openHeaderSite() {
  const received: ReceivedHeaders[] = []
  const server = http.createServer((request, response) => {
    const { method = '', url: path = '', headers } = request
    received.push({ method, path, headers })
    switch (path) {
      case '/gzip':
        return response.setHeader('content-encoding', 'gzip').end(gzipSync(PLAIN))
      case '/cut':
        response.setHeader('content-length', CUT_BYTES)
        response.write(Buffer.alloc(CUT_BYTES / 2, 'x'), () => response.destroy())
        return undefined
      case '/changed':
        return response.writeHead(headers['if-none-match'] === '"v1"' ? 304 : 200).end()
      case '/cookie-1':
        return response.setHeader('set-cookie', 'visitor=1; Path=/').end('a page')
      default:
        return response.end(path === '/robots.txt' ? '' : 'a page')
    }
  })
  server.listen(0, ADDRESS)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${ADDRESS}:${port}`,
    received,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
