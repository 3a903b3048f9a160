/** A completion: which schema reads it is known only when its permit is. */
import { Problem, read } from '@decorum/runtime/http-api'
import type { z } from 'zod'

/** @throws Problem that names the first thing wrong */
export function readBody<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const value = read(schema, given)
  if (value instanceof Problem) throw value
  return value
}
