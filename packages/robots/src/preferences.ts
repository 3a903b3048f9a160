/**
 * A site's preferences for the use of its pages by machines: Content-Usage and Content-Signal, as data. Nothing here allows or refuses a
 * fetch.
 *
 * Content-Usage: draft-ietf-aipref-attach and draft-ietf-aipref-vocab, as of August 2026: a structured-field dictionary (RFC 9651), after
 * an optional path; the longest path wins, and statements with equal paths all apply, the stricter value first. Content-Signal:
 * Cloudflare's Content Signals Policy of September 2025: `search=yes, ai-train=no` per group.
 */
import type { Agent } from './agent.ts'
import { parseRobots } from './parse.ts'
import { policies } from './policies.ts'
import type { OtherRecord, RobotsTxt } from './robots-txt.ts'

/** The supported edition of each specification. */
export const PREFERENCE_DRAFTS = {
  'content-usage': 'draft-ietf-aipref-attach, draft-ietf-aipref-vocab (2026-08)',
  'content-signal': 'Content Signals Policy (2025-09)',
} as const

export interface PreferenceWarning {
  readonly line: number
  readonly text: string
}

export interface Preferences {
  /** By label (`train-ai`, `search` …): true: the use is preferred, false: it is not. Absent: no statement. */
  readonly contentUsage: Readonly<Record<string, boolean>>
  /** By signal (`search`, `ai-input`, `ai-train` …). */
  readonly contentSignal: Readonly<Record<string, boolean>>
  /** The lines of these statements. */
  readonly lines: readonly number[]
  /** Unusable statements of this agent's group, with the reason. */
  readonly warnings: readonly PreferenceWarning[]
}

type Statement = { line: number; path: string | undefined; values: Map<string, boolean> }

/** The preferences of the agent's group for a URL. If crawling is refused, Content-Usage has no statement. */
export function preferences(robots: RobotsTxt, url: string | URL, agent: Agent): Preferences {
  const warnings: PreferenceWarning[] = []
  const own = recordsOf(robots, agent)
  const usage = own.flatMap((record) =>
    record.field === 'content-usage' ? read(record, /^\/\S*(?=\s|$)/, { y: true, n: false }, warnings) : [],
  )
  const signals = own.flatMap((record) =>
    record.field === 'content-signal' ? read(record, /(?!)/, { yes: true, no: false }, warnings) : [],
  )
  const applying = robots.isAllowed(url, agent) ? nearest(usage, url) : []
  return {
    contentUsage: together(applying),
    contentSignal: together(signals),
    lines: [...applying, ...signals].map(({ line }) => line).sort((a, b) => a - b),
    warnings,
  }
}

/** The records in all blocks of the agent's group. */
export function recordsOf(robots: RobotsTxt, agent: Agent): OtherRecord[] {
  const { token } = robots.explain('/', agent)
  if (token === undefined) return []
  const isOurs = (name: string): boolean =>
    token === '*' ? /^\*(?:\s|$)/.test(name) : (/^[A-Za-z_-]*/.exec(name)?.[0] ?? '').toLowerCase() === token
  return robots.records.filter(({ agents }) => agents.some(isOurs))
}

/** Parses one record as a statement; an unusable one gives a warning instead. */
function read(
  { line, value }: OtherRecord,
  pathForm: RegExp,
  words: Readonly<Record<string, boolean>>,
  warnings: PreferenceWarning[],
): Statement[] {
  const path = pathForm.exec(value)?.[0]
  const members = parseDictionary(value.slice(path?.length ?? 0).trim())
  if (members === undefined || members.size === 0) {
    warnings.push({ line, text: `${JSON.stringify(value.slice(0, 60))} is no dictionary of preferences` })
    return []
  }
  const values = new Map<string, boolean>()
  for (const [label, text] of members) {
    const meant = Object.hasOwn(words, text) ? words[text] : undefined
    if (meant === undefined) warnings.push({ line, text: `'${label}' is neither ${Object.keys(words).join(' nor ')}` })
    else values.set(label, meant)
  }
  return [{ line, path, values }]
}

const KEY = /[a-z*][a-z0-9_.*-]*/y
const VALUE = /=(?:([A-Za-z*][\w!#$%&'*+.^`|~:/-]*)|(\?[01])|(-?\d{1,15}(?:\.\d{1,3})?)|("(?:[ !#-[\]-~]|\\["\\])*"))/y
const PARAMETER = /; *[a-z*][a-z0-9_.*-]*(?:=(?:[\w!#$%&'*+.^`|~:/?-]+|"(?:[ !#-[\]-~]|\\["\\])*"))?/y

/**
 * A structured-field dictionary of simple items (RFC 9651 §4.2.2); parameters are skipped.
 * @returns  values as text, the last one of a key; undefined when any part is malformed, because then nothing counts
 */
export function parseDictionary(text: string): Map<string, string> | undefined {
  const members = new Map<string, string>()
  let at = 0
  const next = (form: RegExp): RegExpExecArray | null => {
    form.lastIndex = at
    const found = form.exec(text)
    if (found !== null) at = form.lastIndex
    return found
  }
  if (text === '') return members
  for (;;) {
    const key = next(KEY)?.[0]
    if (key === undefined) return undefined
    const value = text[at] === '=' ? next(VALUE) : ['', '?1']
    if (value === null) return undefined
    members.delete(key)
    members.set(key, value.slice(1).find((group) => group !== undefined) as string)
    while (text[at] === ';') if (next(PARAMETER) === null) return undefined
    next(/[ \t]*/y)
    if (at === text.length) return members
    if (text[at] !== ',') return undefined
    at++
    next(/[ \t]*/y)
  }
}

/** The statements whose path matches with most bytes; those without a path when no path matches. */
function nearest(statements: readonly Statement[], url: string | URL): readonly Statement[] {
  const withPath = statements.filter(({ path }) => path !== undefined)
  // Paths are patterns like those of rules, so the longest match is found with rules: each line here is one statement.
  const source = ['user-agent: *', ...withPath.map(({ path }) => `disallow: ${path}`)].join('\n')
  const { rule, losers } = parseRobots(source, { policy: policies.rfc9309 }).explain(url, 'x')
  if (rule === undefined) return statements.filter(({ path }) => path === undefined)
  const lines = [rule.line, ...losers.flatMap(({ line, why }) => (why === 'tie-line-above-wins' ? [line] : []))]
  return lines.map((line) => withPath[line - 2] as Statement)
}

/** Combines all statements that apply: a use is preferred only if every statement about it prefers it. */
function together(statements: readonly Statement[]): Record<string, boolean> {
  const all: Record<string, boolean> = Object.create(null) as Record<string, boolean>
  for (const { values } of statements) for (const [label, value] of values) all[label] = (all[label] ?? true) && value
  return { ...all }
}
