/** Signing in and out. */
import { z } from 'zod'
import { guess } from '../access/guard.ts'
import { cookieOf, newSession } from '../access/sessions.ts'
import { Form, type PageParts, type PageScope } from './answer-page.ts'
import { loginPage, pathOf } from './login-page.ts'

const PageQuery = z.object({ next: z.string().optional().catch(undefined) })

export function addLogin(scope: PageScope, { config: { login }, guesses }: PageParts): void {
  const LOGIN = { config: { access: 'login' } } as const
  if (login === undefined) return
  scope.get('/login', { ...LOGIN, schema: { querystring: PageQuery } }, ({ query }) =>
    loginPage({ next: pathOf(query.next) }),
  )
  scope.post('/login', { ...LOGIN, schema: { body: Form } }, (request, reply) => {
    const { user = '', password = '', ...fields } = request.body
    const next = pathOf(fields.next)
    reply.code(401)
    if (user === '' && password === '') return loginPage({ next })
    const account = guess(request.ip, user, password, login, guesses)
    if (account === undefined) return loginPage({ next, problem: 'User or password is wrong.', user })
    if (typeof account === 'number') {
      reply.code(429).header('retry-after', String(Math.ceil(account / 1_000)))
      const problem = 'User or password is wrong, as many times before from this address.'
      return loginPage({ next, problem, user })
    }
    return reply.header('set-cookie', cookieOf(request, newSession(account, login), login)).redirect(next, 303)
  })
  scope.post('/logout', LOGIN, (request, reply) =>
    reply.header('set-cookie', cookieOf(request, undefined, login)).redirect('/login', 303),
  )
}
