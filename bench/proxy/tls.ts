/** TLS at one end of a connection, under the certificate that an authority signs for a host; within it HTTP/1.1 or HTTP/2. */
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Http2Server } from 'node:http2'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { type Authority, CA_FILES, openAuthority } from '@decorum/proxy/authority'

export const authorityIn = (folder: string): Authority => {
  const [certificate = '', key = ''] = CA_FILES.map((name) => readFileSync(join(folder, name), 'utf8'))
  return openAuthority({ certificate, key })
}

/** @param http2  serves the connections on which a client chooses HTTP/2; absent: it is not offered */
export function serveTls(socket: Socket, host: string, authority: Authority, http1: Server, http2?: Http2Server): void {
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: authority.contextFor(host),
    ALPNProtocols: http2 === undefined ? ['http/1.1'] : ['h2', 'http/1.1'],
  })
  socket.on('error', () => secured.destroy())
  secured.on('error', () => undefined)
  secured.once('secure', () => {
    const server = secured.alpnProtocol === 'h2' ? http2 : http1
    if (server === http2) Object.assign(secured, { secureConnecting: false })
    server?.emit('connection', secured)
  })
}
