/** Explains what a robots.txt says about one URL, for people and as data: `robots check` and `decorum check`. Pure. */
import type { Agent } from './agent.ts'
import { parseRobots } from './parse.ts'
import { policies } from './policies.ts'
import type { ProfileName } from './readings.ts'
import type { DelayExplanation, Explanation, OtherRecord, Rule, Warning } from './robots-txt.ts'

export type CheckQuestion = {
  /** absolute URL */
  url: string
  /** the file as received; an empty file has no rules */
  robots: Uint8Array | string
  /** whether `robots` was cut by its reader: then its last line is dropped, unless it has a line end */
  truncated?: boolean
  agent: Agent
  profiles: readonly ProfileName[]
  /** minimum and maximum of the delay, ms */
  floorMs: number
  capMs: number
  /** obey crawl-delay under a profile that ignores it */
  honourCrawlDelay?: boolean
  /** the delay in force, when something beside these rules decides it; undefined: the rules decide */
  inForce?: (byRules: CheckedDelay) => Pick<CheckedDelay, 'delayMs' | 'decidedBy' | 'sentence'> | undefined
}

/** The delay owed after a request, and its source. */
export type CheckedDelay = {
  delayMs: number
  decidedBy: 'crawl-delay' | 'floor' | 'cap' | 'operator' | 'policy' | 'consent'
  /** with operator, policy and consent: the delay and its source, for people */
  sentence?: string
  /** the site's own value, if any */
  site?: DelayExplanation
  /** false: the profile ignores crawl-delay */
  honoured: boolean
}

export type CheckVerdict = Explanation & { profile: ProfileName; delay: CheckedDelay }

export type CheckExplanation = {
  url: string
  agent: readonly string[]
  verdicts: CheckVerdict[]
  /** whether the requested profiles disagree on the verdict, the rule or the delay */
  differ: boolean
  sitemaps: string[]
  records: OtherRecord[]
  warnings: Warning[]
}

export function explainCheck(question: CheckQuestion): CheckExplanation {
  const { url, agent, floorMs, capMs } = question
  const file = parseRobots(question.robots, { truncated: question.truncated ?? false })
  const verdicts = question.profiles.map((profile): CheckVerdict => {
    const policy = policies[profile]
    const rules = file.under(policy)
    const honoured = policy.crawlDelay || question.honourCrawlDelay === true
    const byRules = delayOf(rules.explainDelay(agent), honoured, floorMs, capMs)
    return { profile, ...rules.explain(url, agent), delay: { ...byRules, ...question.inForce?.(byRules) } }
  })
  return {
    url,
    agent: typeof agent === 'string' ? [agent] : agent,
    verdicts,
    differ: new Set(verdicts.map(substance)).size > 1,
    sitemaps: file.sitemapsAt(url),
    records: file.records,
    warnings: file.warnings,
  }
}

/** delay = max(floor, min(crawl-delay, cap)) (docs/spec/design.md §2) */
function delayOf(site: DelayExplanation | undefined, honoured: boolean, floorMs: number, capMs: number): CheckedDelay {
  const siteMs = site !== undefined && honoured ? site.seconds * 1_000 : 0
  const delayMs = Math.max(floorMs, Math.min(siteMs, capMs))
  const decidedBy = delayMs === floorMs && siteMs <= floorMs ? 'floor' : delayMs < siteMs ? 'cap' : 'crawl-delay'
  return { delayMs, decidedBy, ...(site ? { site } : {}), honoured }
}

/** The members on which two profiles may disagree. */
function substance({ allowed, rule, token, delay }: CheckVerdict): string {
  return JSON.stringify([allowed, rule?.line, token, delay.delayMs, delay.decidedBy])
}

/** The explanation for people: the verdict first, then the reason, then advice for the owner of the site. */
export function printCheck(explained: CheckExplanation, shown: (line: string) => string = visible): string {
  const lines: string[] = []
  const bySubstance = new Map<string, CheckVerdict[]>()
  for (const verdict of explained.verdicts) {
    const same = bySubstance.get(substance(verdict))
    if (same) same.push(verdict)
    else bySubstance.set(substance(verdict), [verdict])
  }
  if (explained.differ) lines.push('The profiles differ:', '')
  for (const verdicts of bySubstance.values()) lines.push(...printVerdict(verdicts), '')
  if (explained.sitemaps.length > 0) lines.push('Sitemaps', ...explained.sitemaps.map((url) => `  ${url}`), '')
  if (explained.records.length > 0) lines.push('Also there, not acted on', ...explained.records.map(printRecord), '')
  if (explained.warnings.length > 0) lines.push('Warnings', ...explained.warnings.map(printWarning), '')
  return lines.map(shown).join('\n')
}

function printVerdict(verdicts: CheckVerdict[]): string[] {
  const [verdict] = verdicts as [CheckVerdict]
  const { allowed, rule, group, token, losers, losersInAll, delay } = verdict
  const lines = [`${allowed ? 'allowed' : 'DISALLOWED'} under ${verdicts.map(({ profile }) => profile).join(', ')}`]
  lines.push(`  path   ${verdict.path}`)
  if (verdict.agentWarning !== undefined) lines.push(`  agent  ${verdict.agentWarning}`)
  if (group) lines.push(`  group  line ${group.line}, ${group.agents.join(', ')} (taken as '${token}')`)
  lines.push(`  rule   ${rule && verdict.why === 'rule' ? printRule(rule) : REASONS[verdict.why]}`)
  for (const loser of losers) lines.push(`  lost   ${printRule(loser)}: ${LOST[loser.why]}`)
  if (losersInAll > losers.length) lines.push(`  lost   and ${losersInAll - losers.length} more`)
  lines.push(`  delay  ${printDelay(delay)}`)
  return lines
}

const REASONS = {
  rule: '',
  'robots.txt': 'none: robots.txt itself may always be fetched',
  'no-group': 'none: no group names this agent, and there is none for everybody',
  'no-match': 'none of this group matches',
  'empty-rule': 'none of this group matches; it has a rule without a pattern',
} as const

const LOST = {
  shorter: 'its pattern has fewer bytes',
  'tie-allow-wins': 'as many bytes, and allow wins a tie',
  'tie-line-above-wins': 'as many bytes, and the line above was first',
} as const

function printRule({ line, type, pattern }: Rule): string {
  return `line ${line}, ${type}: ${pattern}`
}

function printDelay({ delayMs, decidedBy, sentence, site, honoured }: CheckedDelay): string {
  if (sentence !== undefined) return sentence
  const delay = `${delayMs / 1_000} s`
  if (site === undefined) return `${delay}: our minimum; the site asks for no delay`
  const wish = `crawl-delay '${site.written}' in line ${site.line}`
  if (!honoured) return `${delay}: our minimum; this profile ignores the ${wish}`
  if (decidedBy === 'cap') return `${delay}: our maximum; the ${wish} is longer`
  return decidedBy === 'floor' ? `${delay}: our minimum; the ${wish} is not longer` : `${delay}: the ${wish}`
}

function printRecord({ line, field, value }: OtherRecord): string {
  return `  line ${line}, ${field}: ${value}`
}

function printWarning({ line, kind, text }: Warning): string {
  return `  ${line > 0 ? `line ${line}, ` : ''}${kind}: ${text}`
}

/** A line of an untrusted file, safe for a terminal: control and direction characters become escapes. */
function visible(line: string): string {
  return line.replaceAll(
    /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
