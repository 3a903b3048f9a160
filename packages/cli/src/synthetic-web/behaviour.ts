/**
 * How a site of the synthetic web behaves, as data: it crosses a process border as JSON, and a test reads like a list of
 * sites. `{origin:NAME}` in a body or a Location stands for the origin of the site with that name.
 */

/** One answer. */
export type Answer = {
  /** default 200 */
  status?: number
  /** text of the body; robots.txt bodies become part of the record */
  body?: string
  /** a body of so many bytes instead */
  bytes?: number
  type?: string
  /** pause before the first byte, ms */
  delayMs?: number
  /** the body comes in two halves, so far apart, ms */
  dribbleMs?: number
  retryAfter?: string
  location?: string
  headers?: Record<string, string>
  /** never: the request is read, nothing is answered · reset: the connection is torn down instead of an answer */
  instead?: 'never' | 'reset'
}

/** Always the same, one after the other (the last one stays), or round and round. Counted per site and path. */
export type Script = Answer | Answer[] | { cycle: Answer[] }

export type Site = {
  /** unique; what `{origin:NAME}` and tests call it */
  name: string
  /** answers to /robots.txt; absent: 404 */
  robots?: Script
  /** answers to paths that `paths` does not name; the script counts over the whole site; 1 KiB by default */
  pages?: Script
  /** answers to exact paths (with query) */
  paths?: Record<string, Script>
  /** report the beginning and end of every request to the parent process at once, beside the record */
  announce?: boolean
}

/** The answer to the n-th (from 0) request of a script. */
export function answerOf(script: Script, n: number): Answer {
  if (!Array.isArray(script)) return 'cycle' in script ? (script.cycle[n % script.cycle.length] ?? {}) : script
  return script[Math.min(n, script.length - 1)] ?? {}
}
