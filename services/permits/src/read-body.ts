/** What a request carries, read by the schema that also describes it. */
import type { z } from 'zod'
import { Problem } from './problem.ts'

/** @throws Problem that names the first thing wrong */
export function readBody<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const parsed = schema.safeParse(given ?? {})
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') ?? ''
  throw new Problem('bad-request', `${where === '' ? '' : `${where}: `}${issue?.message ?? 'cannot be read'}`)
}
