/**
 * Who may come in. Without a password the console answers to loopback names alone, so that no web page can reach it
 * through a name that resolves to 127.0.0.1 (DNS rebinding); with one, basic auth. Health stays open either way.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from './config.ts'

const OPEN = new Set(['/livez', '/readyz'])
/** Reading that takes something away: what a group has been told is not told it again. */
const TAKES = '/v1/outcomes'

/** No inline script or style anywhere on our pages; the board needs inline styles (see board.ts). */
export const PAGE_POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

export type Login = { user: string; password: string }

/** The hook that stands before every route. */
export function doorkeeper(login: Login | undefined) {
  return async function door(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    reply.headers({
      'content-security-policy': PAGE_POLICY,
      'x-content-type-options': 'nosniff',
      // Our own forms must say where they come from: without a Referer their Origin would be 'null'
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    if (OPEN.has(request.url)) return undefined
    if (isForeignWrite(request)) {
      return reply.code(403).send({ error: 'cross-site', message: 'a page of another site may not write here' })
    }
    if (login === undefined) {
      if (isLoopback(hostnameOf(request.headers.host))) return undefined
      return reply.code(403).send({
        error: 'host-not-loopback',
        message: 'without CONSOLE_PASSWORD the console answers to localhost and loopback addresses alone',
      })
    }
    if (isRight(request.headers.authorization, login)) return undefined
    return reply
      .code(401)
      .header('www-authenticate', 'Basic realm="Decorum console", charset="UTF-8"')
      .send({ error: 'login-needed', message: 'user name and password are needed' })
  }
}

/** Basic auth is sent by browsers unasked, and text/plain needs no preflight: a form elsewhere could post here. */
function isForeignWrite({ method, url, headers }: FastifyRequest): boolean {
  const reads = method === 'GET' || method === 'HEAD'
  if (reads && url.split('?')[0] !== TAKES) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  const { origin } = headers
  return origin !== undefined && URL.parse(origin)?.host !== headers.host
}

function hostnameOf(header: string | undefined): string {
  return URL.parse(`http://${header ?? ''}`)?.hostname ?? ''
}

function isRight(header: string | undefined, login: Login): boolean {
  const match = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '')
  const given = Buffer.from(match?.[1] ?? '', 'base64').toString('utf8')
  // Digests have one length, so the comparison takes one time whatever was typed.
  return timingSafeEqual(digest(given), digest(`${login.user}:${login.password}`))
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
