/**
 * Decides which requests are answered. Without a password only those to loopback names, so that no web page can reach the console
 * through a name that resolves to 127.0.0.1 (DNS rebinding); with a password, those of signed-in users (sessions.ts), and those
 * of programs that send it (HTTP basic authentication). Read-only logins change nothing. Health and the page for owners of sites need no login.
 * @fastify/basic-auth 6.3 was read and not taken: it would replace the four lines that decode
 * the header, while the limit on wrong passwords, the comparison in constant time and the refusals would stay here.
 */
import { isLoopback } from '@decorum/config'
import { Problem } from '@decorum/runtime/http-api'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HTML } from '../pages/html.ts'
import { loginPage } from '../pages/login-page.ts'
import { countGuesses, type Guesses } from './guesses.ts'
import { type Access, refusePage } from './route-access.ts'
import { type Account, accountOf, type Login, sessionOf, type Who } from './sessions.ts'

/** Our pages use no inline script or style; the board needs inline styles (see board.ts). */
export const PAGE_POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

/** The hook that runs before every route. */
export function requestGuard(login: Login | undefined, guesses: Guesses = countGuesses()) {
  return async function guard(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    reply.headers({
      'content-security-policy': PAGE_POLICY,
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      // Our forms must state their origin: without a Referer their Origin would be 'null'
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    const access = accessOf(request)
    if (access === 'open') return undefined
    const refused = refusePage(access, request.method, request.headers)
    if (refused !== undefined) throw refused
    if (login === undefined) {
      if (isLoopback(hostnameOf(request.headers.host))) return undefined
      throw new Problem(
        403,
        'host-not-loopback',
        'without CONSOLE_PASSWORD the console answers to localhost and loopback addresses alone',
      )
    }
    if (access === 'login') return undefined
    const who = sessionOf(request, login) ?? whoTypes(request, login, guesses)
    if (typeof who === 'number') {
      const why = 'the password is wrong, as many before it from this address'
      throw new Problem(429, 'too-many-guesses', why, { retryAfterMs: who })
    }
    if (who === undefined) return requirePassword(request, reply)
    request.who = who
    if (who.role === 'operate' || access === 'read') return undefined
    throw new Problem(403, 'may-only-read', `'${who.user}' may only read`)
  }
}

/** The access of the matched route. A request without a route changes nothing; a route that declares no access counts as `write`. */
function accessOf(request: FastifyRequest): Access {
  return request.is404 ? 'read' : (request.routeOptions.config.access ?? 'write')
}

/** The account whose name and password the request contains; undefined: there are none, or they are wrong; a number: the wait that `guess` returned. */
function whoTypes(
  { ip, headers: { authorization } }: FastifyRequest,
  login: Login,
  guesses: Guesses,
): Who | number | undefined {
  if (authorization === undefined) return undefined
  const match = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization)
  const [user = '', ...password] = Buffer.from(match?.[1] ?? '', 'base64')
    .toString('utf8')
    .split(':')
  return guess(ip, user, password.join(':'), login, guesses)
}

/** One attempt to sign in. @returns the account; undefined: wrong; a number: the wait, ms, after too many wrong ones (answered 429) */
export function guess(
  address: string,
  user: string,
  password: string,
  login: Login,
  guesses: Guesses,
): Account | number | undefined {
  const account = accountOf(login, user, password)
  if (account !== undefined) return account
  const isKnown = login.accounts.some((one) => one.user === user)
  return guesses.wrong(address, isKnown ? user : '') || undefined
}

/** Whether a browser opens a page, as opposed to a request by a program or by a page's script. */
export const wantsPage = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && headers.accept?.includes('text/html') === true

/** A person gets the login page; a program gets an HTTP challenge, and a page's script only a status. */
function requirePassword(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { url, headers } = request
  if (wantsPage(request))
    return reply
      .code(401)
      .type(HTML)
      .send(loginPage({ next: url }))
  if (headers['sec-fetch-site'] === undefined)
    reply.header('www-authenticate', 'Basic realm="Decorum console", charset="UTF-8"')
  throw new Problem(401, 'login-needed', 'user name and password are needed')
}

function hostnameOf(header: string | undefined): string {
  return URL.parse(`http://${header ?? ''}`)?.hostname ?? ''
}
