/** Types and functions that the routes of all pages share. */
import { Problem, read, type readBySchemas } from '@decorum/runtime/http-api'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Guesses } from '../access/guesses.ts'
import type { ApiParts } from '../api/parts.ts'
import type { FleetView } from '../watch/fleet-view.ts'
import type { Pace } from '../watch/pace.ts'

export type PageParts = ApiParts & { view: () => Promise<FleetView>; pace: Pace; guesses: Guesses }
/** Handlers return a Page; requests are parsed by the schemas of their route. */
export type PageScope = ReturnType<typeof readBySchemas>

export const READ = { config: { access: 'read' } } as const
export const WRITE = { config: { access: 'write' } } as const
/** The body of a posted form. */
export const Form = z.record(z.string(), z.string())

/** Reads the fields of a form, and acts on them. @returns a Problem when they are wrong, or when it could not be done */
export function readThen<T extends z.ZodType, R>(
  schema: T,
  fields: object,
  act: (wish: z.output<T>) => R | Promise<R>,
): Problem | R | Promise<R> {
  const wish = read(schema, fields)
  return wish instanceof Problem ? wish : act(wish)
}

/** Answers a form: with a redirect, so that reloading the page repeats nothing; or with the page that shows why it was refused. */
export function afterForm(reply: FastifyReply, done: unknown, path: string, show: (problem: Problem) => unknown) {
  if (!(done instanceof Problem)) return reply.redirect(path, 303)
  reply.code(done.status)
  return show(done)
}
