/**
 * Opens a tunnel through a proxy: CONNECT to an address that has been checked, so the proxy resolves no name and reaches the checked
 * address. All octets for the site go through the tunnel; the proxy's login goes only to the proxy.
 */

import { request as overTls } from 'node:https'
import { isIPv6, type Socket } from 'node:net'
import type { ForwardProxy } from '@decorum/config'
import type { Clock } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { http } from '@decorum/runtime/node-http'
import { PROXY_WITHIN_MS } from '../limits.ts'

/**
 * Egress of this machine failed: the proxy is unreachable or rejects the login, or the local address does not exist. This says
 * nothing about the site, and nothing was sent to it.
 */
export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly code = 'ERR_EGRESS'
}

/** The proxy was reached and makes no tunnel to the address: proxies.ts decides whose fault that is. */
export class TunnelRefusedError extends Error {
  override readonly name = 'TunnelRefusedError'
  readonly code = 'ERR_TUNNEL_REFUSED'
}

/**
 * @param to         an address, not a name
 * @param onReached  called when the proxy itself is connected
 * @throws EgressError, TunnelRefusedError; the reason of `signal`
 */
export function openTunnel(
  clock: Clock,
  { origin, authorization }: ForwardProxy,
  to: { address: string; port: number },
  signal: AbortSignal,
  onReached: () => void,
): Promise<Socket> {
  const { protocol, hostname, port } = new URL(origin)
  const isTls = protocol === 'https:'
  const target = `${isIPv6(to.address) ? `[${to.address}]` : to.address}:${to.port}`
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const asking = (isTls ? overTls : http.request)({
    method: 'CONNECT',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    path: target,
    agent: false,
    setHost: false,
    headers: { host: target, ...defined({ 'proxy-authorization': authorization }) },
    signal,
  })
  const away = (why: string, cause?: unknown): EgressError => new EgressError(`the proxy ${origin} ${why}`, { cause })
  let isReached = false
  const tooLate = clock.timeout(
    () => asking.destroy(away(`could not be reached within ${PROXY_WITHIN_MS} ms`)),
    PROXY_WITHIN_MS,
  )
  asking.once('socket', (socket) =>
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      clock.cancel(tooLate)
      isReached = true
      onReached()
    }),
  )
  asking.once('connect', ({ statusCode = 0, statusMessage = '' }, socket, early) => {
    clock.cancel(tooLate)
    const isOpen = statusCode >= 200 && statusCode < 300
    socket.on('error', () => {}) // for a tunnel that nobody is reading at the moment; a reader gets the close event
    if (isOpen && early.length === 0) return resolve(socket.setNoDelay(true))
    socket.destroy()
    if (statusCode === 407) return reject(away('wants another login (407)'))
    const said = isOpen ? 'sends bytes that nobody asked for' : `answers ${statusCode} ${statusMessage}`.trim()
    reject(new TunnelRefusedError(`the proxy ${origin} ${said} for ${target}`))
  })
  asking.once('error', (error) => {
    clock.cancel(tooLate)
    if (signal.aborted) return reject(signal.reason as Error)
    if (isReached)
      return reject(new TunnelRefusedError(`the proxy ${origin} does not answer for ${target}: ${error.message}`))
    reject(error instanceof EgressError ? error : away(`does not answer: ${error.message}`, error))
  })
  asking.end()
  return promise
}
