/**
 * Behaviour of the sites of the synthetic web, as data: it can be sent to another process as JSON, and a test reads like a list of
 * sites. `{origin:NAME}` in a body or a Location stands for the origin of the site with that name.
 */

export type Answer = {
  /** default 200 */
  status?: number
  /** text of the body; robots.txt bodies become part of the record */
  body?: string
  /** length of a filler body that is sent instead of `body` */
  bytes?: number
  type?: string
  /** pause before the first byte, ms */
  delayMs?: number
  /** pause between the two halves of the body, ms */
  dribbleMs?: number
  retryAfter?: string
  location?: string
  headers?: Record<string, string>
  /** never: the request is read and never answered · reset: the connection is reset instead of an answer */
  instead?: 'never' | 'reset'
}

/** One answer for all requests, a sequence whose last answer repeats, or a cycle. Requests are counted per site and path. */
export type Script = Answer | Answer[] | { cycle: Answer[] }

export type Site = {
  /** unique name, for `{origin:NAME}` and tests */
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
