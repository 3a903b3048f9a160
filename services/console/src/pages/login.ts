/** Signing in and out. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { guess } from '../access/guard.ts'
import { cookieOf, newSession } from '../access/sessions.ts'
import { type PageParts, page } from './answer-page.ts'
import { loginPage, pathOf } from './login-page.ts'

type Fields = Partial<Record<'user' | 'password' | 'next', string>>

export function addLogin(scope: FastifyInstance, { config: { login }, guesses }: PageParts): void {
  const LOGIN = { config: { access: 'login' } } as const
  if (login === undefined) return
  scope.get('/login', LOGIN, (request: FastifyRequest<{ Querystring: { next?: unknown } }>, reply) => {
    const { next } = request.query
    return page(reply, loginPage({ next: pathOf(typeof next === 'string' ? next : undefined) }))
  })
  scope.post('/login', LOGIN, (request, reply) => {
    const { user = '', password = '', next } = (request.body ?? {}) as Fields
    const path = pathOf(next)
    if (user === '' && password === '') return page(reply.code(401), loginPage({ next: path }))
    const account = guess(request.ip, user, password, login, guesses)
    if (typeof account === 'number') {
      const seconds = Math.ceil(account / 1_000)
      const problem = 'User or password is wrong, as many times before from this address.'
      return page(reply.code(429).header('retry-after', String(seconds)), loginPage({ next: path, problem, user }))
    }
    if (account === undefined)
      return page(reply.code(401), loginPage({ next: path, problem: 'User or password is wrong.', user }))
    return reply.header('set-cookie', cookieOf(request, newSession(account, login), login)).redirect(path, 303)
  })
  scope.post('/logout', LOGIN, (request, reply) =>
    reply.header('set-cookie', cookieOf(request, undefined, login)).redirect('/login', 303),
  )
}
