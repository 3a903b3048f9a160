/** One operation of the HTTP API: what is asked, checked by the same schemas that describe it, and what is answered. */
import { z } from 'zod'

export type Route = {
  method: 'get' | 'post' | 'patch'
  access: 'read' | 'write'
  /** with OpenAPI's braces */
  path: `/${string}`
  summary: string
  description?: string
  params?: z.ZodObject
  query?: z.ZodObject
  body?: { types: string[]; schema: z.ZodType }
  answers: Record<number, { description: string; type?: string; schema?: z.ZodType }>
}

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

/** What was asked, as the schema reads it; or a Refusal that names the first thing wrong. */
export function read<T extends z.ZodType>(schema: T, given: unknown): z.output<T> | Refusal {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue?.path.join('.') ?? ''
  const code = issue?.code === 'custom' && typeof issue.params?.error === 'string' ? issue.params.error : 'bad-request'
  return new Refusal(400, code, `${where === '' ? '' : `${where}: `}${issue?.message ?? 'cannot be read'}`)
}

/** A schema's own complaint, with a word for programs. */
export function complain(context: z.RefinementCtx, error: string, message: string): never {
  context.addIssue({ code: 'custom', message, params: { error } })
  return z.NEVER
}
