/**
 * Which requests are answered. Without a password only those to loopback names, so that no web page can reach the console
 * through a name that resolves to 127.0.0.1 (DNS rebinding); with one, those that bring it (HTTP basic authentication).
 * Health is answered to everybody. @fastify/basic-auth 6.3 was read and not taken: it would replace the four lines that decode
 * the header, while the limit on wrong passwords, the comparison in constant time and the refusals stay ours.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { isLoopback } from '@decorum/config'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { countGuesses, type Guesses } from './guesses.ts'
import { type Access, refusePage } from './route-access.ts'

/** No inline script or style anywhere on our pages; the board needs inline styles (see board.ts). */
export const PAGE_POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

export type Login = { user: string; password: string }

/** The hook that runs before every route. */
export function requestGuard(login: Login | undefined, guesses: Guesses = countGuesses()) {
  return async function guard(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    reply.headers({
      'content-security-policy': PAGE_POLICY,
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      // Our own forms must say where they come from: without a Referer their Origin would be 'null'
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    const access = accessOf(request)
    if (access === 'open') return undefined
    const refused = refusePage(access, request.method, request.headers)
    if (refused !== undefined) return reply.code(403).send(refused)
    if (login === undefined) {
      if (isLoopback(hostnameOf(request.headers.host))) return undefined
      return reply.code(403).send({
        error: 'host-not-loopback',
        message: 'without CONSOLE_PASSWORD the console answers to localhost and loopback addresses alone',
      })
    }
    return askPassword(request, reply, login, guesses)
  }
}

/** Of the matched route. A request that matches none changes nothing; a route that declares nothing counts as `write`. */
function accessOf(request: FastifyRequest): Access {
  return request.is404 ? 'read' : (request.routeOptions.config.access ?? 'write')
}

function askPassword(
  { ip, headers: { authorization } }: FastifyRequest,
  reply: FastifyReply,
  login: Login,
  guesses: Guesses,
): FastifyReply | undefined {
  const waitMs = authorization === undefined ? 0 : guesses.waitMs(ip)
  // The right password is refused as well while the limit holds: otherwise an answer would tell a guesser that it was right
  if (waitMs > 0) {
    return reply
      .code(429)
      .header('retry-after', String(Math.ceil(waitMs / 1_000)))
      .send({ error: 'too-many-guesses', message: 'too many wrong passwords came from this address' })
  }
  if (authorization !== undefined) {
    if (isRight(authorization, login)) return undefined
    guesses.wrong(ip)
  }
  return reply
    .code(401)
    .header('www-authenticate', 'Basic realm="Decorum console", charset="UTF-8"')
    .send({ error: 'login-needed', message: 'user name and password are needed' })
}

function hostnameOf(header: string | undefined): string {
  return URL.parse(`http://${header ?? ''}`)?.hostname ?? ''
}

function isRight(header: string, login: Login): boolean {
  const match = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header)
  const given = Buffer.from(match?.[1] ?? '', 'base64').toString('utf8')
  // Digests have one length, so the comparison takes one time whatever was typed.
  return timingSafeEqual(digest(given), digest(`${login.user}:${login.password}`))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
