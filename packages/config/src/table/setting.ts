/** The properties of one setting, and the kinds of values. */
import { z } from 'zod'

export const PROCESSES = ['gateway', 'fetcher', 'console', 'permits', 'proxy'] as const
/** The readers of a setting: the five kinds of process, and the command line (`decorum up`, `crawl`, `check` …). */
export const ROLES = [...PROCESSES, 'command'] as const
export type Role = (typeof ROLES)[number]

export type Setting = {
  /** parses the text of the environment; its default is the setting's default */
  schema: z.ZodType
  unit?: 'ms' | 'bytes' | 'URLs' | 'outcomes' | 'requests' | 'processes' | 'partitions'
  /** one sentence */
  means: string
  /** the reason for the default, in one sentence */
  reason: string
  roles: readonly Role[]
  /** for a setting of the fleet's document, which has one value for all processes: how a change is applied; absent: each has its own */
  fleet?: Change
}

/**
 * How a change is applied. `live`: by running processes, for later decisions. `restart`: by each process when it starts. `identity`:
 * processes that differ in the setting cannot share lanes, so all stop before it changes.
 */
export type Change = 'live' | 'restart' | 'identity'

/** A whole number within bounds. Every numeric setting uses this, so all of them describe a wrong value alike. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  const needed = `a whole number ${range} is needed`
  return z.coerce.number(needed).int(needed).min(min, needed).max(max, needed)
}

/** Text that a parser must accept; the value stays text. @param read  throws an Error that says what is wrong */
export function textThat(read: (text: string) => unknown, missing = 'a text is needed') {
  return z.string({ error: missing }).superRefine((text, context) => {
    try {
      read(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message, params: { quotesItself: true } })
    }
  })
}

/** The default as the text of a variable; undefined: there is none. An empty text counts as none, as in the environment. */
export function defaultOf({ schema }: Setting): string | undefined {
  const { success, data } = schema.safeParse(undefined)
  return success && (typeof data === 'number' || (typeof data === 'string' && data !== '')) ? String(data) : undefined
}
