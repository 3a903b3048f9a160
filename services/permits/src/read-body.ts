/** Reads a completion: the permit decides which schema applies. */
import { Problem, read } from '@decorum/runtime/http-api'
import type { z } from 'zod'

/** @throws Problem that names the first fault */
export function readBody<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const value = read(schema, given)
  if (value instanceof Problem) throw value
  return value
}
