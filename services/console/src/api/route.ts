/** What is asked of the API, read by the same schemas that describe it; and why something was not done. */

import type { FastifyInstance, FastifyReply, FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'

/** Why nothing was done: `error` for programs, `message` for people. */
export type Problem = { error: string; message: string; line?: number }

export class Refusal {
  readonly status: number
  readonly problem: Problem
  /** when asking again may help, seconds */
  readonly retryAfterS: number | undefined
  constructor(status: number, error: string, message: string, retryAfterS?: number) {
    this.status = status
    this.problem = { error, message }
    this.retryAfterS = retryAfterS
  }
}

/** A request that the schemas of its route refuse, on its way to the server's error handler. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest'
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.problem.message)
    this.refusal = refusal
  }
}

export const unavailable = (why: unknown): Problem => ({
  error: 'redis-away',
  message: `Redis does not answer: ${why instanceof Error ? why.message : String(why)}`,
})

/** What was asked, as the schema reads it; or a Refusal that names the first thing wrong. */
export function read<T extends z.ZodType>(schema: T, given: unknown): z.output<T> | Refusal {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue?.path.join('.') ?? ''
  const code = issue?.code === 'custom' && typeof issue.params?.error === 'string' ? issue.params.error : 'bad-request'
  return new Refusal(400, code, `${where === '' ? '' : `${where}: `}${issue?.message ?? 'cannot be read'}`)
}

/** The error of a schema, with a code for programs. */
export function complain(context: z.RefinementCtx, error: string, message: string): never {
  context.addIssue({ code: 'custom', message, params: { error } })
  return z.NEVER
}

export function refuse(reply: FastifyReply, { status, problem, retryAfterS }: Refusal): FastifyReply {
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS))
  return reply.code(status).send(problem)
}

const byZod: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const value = read(schema, data ?? {})
    return value instanceof Refusal ? { error: new RefusedRequest(value) } : { value }
  }

/**
 * Routes of this scope are read by their schemas, and a handler may return a Refusal. Answers are not checked against theirs
 * each time: tests do that.
 * @param bodies  false: handlers read the raw body themselves
 */
export function readBySchemas(scope: FastifyInstance, bodies = true): void {
  scope.setValidatorCompiler<z.ZodType>((route) => (bodies || route.httpPart !== 'body' ? byZod(route) : () => true))
  scope.setSerializerCompiler(() => JSON.stringify)
  scope.addHook('preSerialization', async (_request, reply, payload) => {
    if (!(payload instanceof Refusal)) return payload
    reply.code(payload.status)
    if (payload.retryAfterS !== undefined) reply.header('retry-after', String(payload.retryAfterS))
    return payload.problem
  })
}
