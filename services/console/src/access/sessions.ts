/**
 * Sessions. A session is a signed text in a cookie: user, role and end. No console stores a list, so every console of the fleet with the
 * same passwords accepts it, also after a restart; it is valid until its end, or until the password of its user is changed.
 */

import { createHash, createHmac, scryptSync, timingSafeEqual } from 'node:crypto'
import { systemClock } from '@decorum/protocol'
import type { FastifyRequest } from 'fastify'

/** read: sees everything and changes nothing. operate: everything. */
export type UserRole = 'read' | 'operate'
export type Account = { user: string; password: string; role: UserRole }
export type Login = { accounts: Account[]; sessionMs: number }
export type Who = { user: string; role: UserRole }
/** The sender of a request; `who` is undefined where no login is needed. */
export type Viewer = { who?: Who | undefined }

declare module 'fastify' {
  interface FastifyRequest {
    /** undefined: no login is needed */
    who?: Who | undefined
  }
}

export const COOKIE = 'decorum_session'

/** The account with this name and password. All are compared, in constant time. */
export function accountOf({ accounts }: Login, user: string, password: string): Account | undefined {
  const given = digest(`${user}:${password}`)
  return accounts.filter((one) => timingSafeEqual(given, digest(`${one.user}:${one.password}`)))[0]
}

/** @param now  ms since 1970 UTC */
export function newSession(account: Account, { sessionMs }: Login, now = systemClock.machine()): string {
  const text = Buffer.from(JSON.stringify({ user: account.user, ends: now + sessionMs })).toString('base64url')
  return `${text}.${signatureOf(text, account)}`
}

/** The account of a session; undefined: invalid or expired. */
export function readSession(token: string, { accounts }: Login, now = systemClock.machine()): Who | undefined {
  const [text = '', signature = ''] = token.split('.')
  for (const account of accounts) {
    if (!timingSafeEqual(digest(signature), digest(signatureOf(text, account)))) continue
    const { user, ends } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as { user: string; ends: number }
    if (user === account.user && ends > now) return { user, role: account.role }
  }
  return undefined
}

/** The session of this request; undefined: it has no valid one. */
export function sessionOf({ headers: { cookie = '' } }: FastifyRequest, login: Login): Who | undefined {
  for (const part of cookie.split(';')) {
    const [name = '', ...value] = part.trim().split('=')
    const who = name === COOKIE ? readSession(value.join('='), login) : undefined
    if (who !== undefined) return who
  }
  return undefined
}

/** The value of Set-Cookie; without a token it deletes the cookie. Secure if the browser uses TLS, also to a proxy in front. */
export function cookieOf(request: FastifyRequest, token: string | undefined, { sessionMs }: Login): string {
  const forwarded = String(request.headers['x-forwarded-proto'] ?? '')
    .split(',')[0]
    ?.trim()
  const secure = request.protocol === 'https' || forwarded === 'https' ? '; Secure' : ''
  const age = token === undefined ? 0 : Math.floor(sessionMs / 1_000)
  return `${COOKIE}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${age}${secure}`
}

const signatureOf = (text: string, account: Account): string =>
  createHmac('sha256', keyOf(account)).update(`${account.user} ${text}`).digest('base64url')

/**
 * The key is derived from the password: changing it ends the sessions of its user. scrypt makes guessing the password of a copied cookie
 * expensive: 50 ms a guess. The cost arises once for each account of this process.
 */
function keyOf(account: Account): Buffer {
  const known = keys.get(account)
  if (known !== undefined) return known
  const key = scryptSync(account.password, `decorum session ${account.user}`, 32)
  keys.set(account, key)
  return key
}
const keys = new WeakMap<Account, Buffer>()

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
