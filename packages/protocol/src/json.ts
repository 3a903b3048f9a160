/** What crosses a border as JSON and has to come out as it went in. */
import { z } from 'zod'

export const NOT_WELL_FORMED = 'text with half of a surrogate pair: only well-formed Unicode is kept'

/** An object with members, as JSON means it. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Checked and handed on as it is: z.record copies, and a copy loses a member that is called `__proto__`. */
export const jsonObject = z
  .unknown()
  .refine(isRecord, 'an object is needed')
  .meta({ type: 'object', additionalProperties: {} }) as unknown as z.ZodType<Record<string, unknown>>

/** Beyond this an integer is more likely meant as a floating-point number than as an identifier of 64 bits. */
const MAX_UINT64 = 2 ** 64

/** How deep JSON that is handed on may be nested. What reads it recurses, and each reader has another room on its stack. */
const MAX_NESTING = 64

/**
 * Why a value would not come out of JSON as it went in, or undefined when it would.
 * @param value  out of JSON.parse
 * @param depth  how many arrays and objects it stands in
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
