/** JSON that crosses a process border and must be passed on unchanged. */
import { z } from 'zod'

export const NOT_WELL_FORMED = 'text with half of a surrogate pair: only well-formed Unicode is kept'

/** Whether a value is an object with members, in the sense of JSON. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checked but passed on unchanged: z.record copies, and a copy loses a member that is called `__proto__`. */
export const jsonObject = z
  .unknown()
  .refine(isRecord, 'an object is needed')
  .meta({ type: 'object', additionalProperties: {} }) as unknown as z.ZodType<Record<string, unknown>>

/** A larger integer is more likely a floating-point number than a 64-bit identifier. */
const MAX_UINT64 = 2 ** 64

/** Largest nesting depth of JSON that is passed on. Readers recurse, and their stacks differ in size. */
const MAX_NESTING = 64

/**
 * Why a value would change when written as JSON and read again, or undefined when it would not.
 * @param value  result of JSON.parse
 * @param depth  number of arrays and objects around it
 */
export function lostInJson(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : NOT_WELL_FORMED
  if (typeof value === 'number') return lostNumber(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= MAX_NESTING) return `what is nested more than ${MAX_NESTING} levels deep is not kept`
  for (const [key, member] of Object.entries(value)) {
    const lost = lostInJson(key) ?? lostInJson(member, depth + 1)
    if (lost !== undefined) return lost
  }
  return undefined
}

function lostNumber(value: number): string | undefined {
  if (!Number.isFinite(value)) return 'a number beyond 1.8e308 is not kept'
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) <= MAX_UINT64)
    return 'an integer of more than 53 bits is not kept to the last digit: write it as text'
  return undefined
}
