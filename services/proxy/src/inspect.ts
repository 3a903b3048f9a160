/**
 * Inspected tunnels: the client's TLS ends here, under a certificate of the proxy's authority, and each request inside is treated like any
 * other, over HTTP/2 or HTTP/1.1 as the client negotiates (ALPN). Plain HTTP within a tunnel is read as well: some clients tunnel that, too.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Clock } from '@decorum/protocol'
import { Problem } from '@decorum/sending/granting'
import type { Client } from './client.ts'
import { type Sessions, serveHttp2 } from './h2.ts'
import type { ClientRequest, Reply } from './message.ts'
import type { Parts } from './parts.ts'

/** Facts about the connection of a request within a tunnel. */
export type Inside = { origin: string; client: Client }

/** Serves connections within tunnels: HTTP/1.1 by one Node server, HTTP/2 by a session for each connection. */
export type Inner = {
  server: Server
  of: WeakMap<Socket, Inside>
  sessions: Sessions
  serve: (incoming: ClientRequest, reply: Reply, within: Inside) => void
}

type Target = { hostname: string; port: number; client: Client; request: IncomingMessage }

/** Time limit for a client that sends nothing through its tunnel, or does not finish its handshake. */
const HELLO_WITHIN_MS = 10_000
/** The first byte of a TLS record that begins a handshake (RFC 8446 §5.1). */
const HANDSHAKE = 22

/** Answers a CONNECT and serves the requests inside the tunnel. */
export async function inside(
  socket: Socket,
  early: Buffer,
  { hostname, port, client }: Target,
  { authority, inner, tally, tools }: Parts & { inner: Inner },
): Promise<void> {
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  if (early.length > 0) socket.unshift(early)
  const first = await firstByte(socket, tools.ledger.clock)
  if (first === undefined) return
  const isTls = first === HANDSHAKE
  const origin = new URL(`${isTls ? 'https' : 'http'}://${hostname}:${port}`).origin
  const { token: by, ...rest } = client
  const whose = { origin, by, ...rest }
  if (!isTls) return serveOn(socket, { origin, client }, inner)
  if (authority === undefined) {
    tally.came(whose)
    tally.refused(whose, 'no-mode')
    return void socket.destroy() // TLS to the port of plain HTTP, and no authority to inspect it with
  }
  const { clock } = tools.ledger
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: authority.contextFor(new URL(origin).hostname),
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  const late = clock.timeout(() => secured.destroy(), HELLO_WITHIN_MS)
  // A client that does not trust the authority ends the handshake: it counts as a request that was refused.
  const untrusted = (): void => {
    tally.came(whose)
    tally.refused(whose, 'untrusted')
  }
  secured.on('error', () => undefined)
  secured.once('close', untrusted).once('close', () => clock.cancel(late))
  secured.once('secure', () => {
    secured.off('close', untrusted)
    clock.cancel(late)
    const within = { origin, client }
    if (secured.alpnProtocol !== 'h2') return serveOn(secured, within, inner)
    Object.assign(secured, { secureConnecting: false }) // as Node's TLS server does: a session would wait for 'secureConnect'
    secured.allowHalfOpen = false // inherited from the server before the tunnel; a session would not end with its client
    return serveHttp2(secured, clock, inner.sessions, (incoming, reply) => inner.serve(incoming, reply, within))
  })
}

function serveOn(socket: Socket, about: Inside, { server, of }: Inner): void {
  of.set(socket, about)
  server.emit('connection', socket)
}

/**
 * The URL of a request within a tunnel. It must name the host of the tunnel.
 * @throws Problem
 */
export function urlWithin({ origin }: Inside, { url, host }: ClientRequest): string {
  const named = URL.parse(`${origin.slice(0, origin.indexOf(':'))}://${host}`)?.origin
  if (!url.startsWith('/')) throw new Problem('bad-request', 'inside a tunnel a request names a path, not a whole URL')
  if (named !== origin) throw new Problem('bad-request', `this tunnel leads to ${origin}, and Host names another site`)
  return origin + url
}

/** Waits for the first byte, which stays unread. @returns undefined when none came */
function firstByte(socket: Socket, clock: Clock): Promise<number | undefined> {
  return new Promise((resolve) => {
    const end = (byte?: number): void => {
      clock.cancel(timer)
      socket.off('readable', check).off('close', gone).off('end', gone)
      if (byte === undefined) socket.destroy()
      resolve(byte)
    }
    const gone = (): void => end()
    const check = (): void => {
      const piece = socket.read() as Buffer | null
      if (piece === null) return
      socket.unshift(piece)
      end(piece[0])
    }
    const timer = clock.timeout(gone, HELLO_WITHIN_MS)
    socket.on('readable', check).once('close', gone).once('end', gone)
    check()
  })
}
