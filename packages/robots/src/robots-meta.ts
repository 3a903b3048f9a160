/**
 * Parses `X-Robots-Tag` headers and the content of `<meta name="robots">`, which share one syntax. Supports all rules of Google's page
 * "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications", including the withdrawn ones.
 */

/** Rules without a value. */
const FLAGS = [
  'all',
  'noindex',
  'nofollow',
  'none',
  'noarchive',
  'nocache',
  'nosnippet',
  'notranslate',
  'noimageindex',
  'indexifembedded',
  'nositelinkssearchbox',
  'noodp',
  'noydir',
  'index',
  'follow',
  'noai',
  'noimageai',
] as const

export type RobotsMetaFlag = (typeof FLAGS)[number]

export interface RobotsMeta {
  /** The agent: the token before a header's rules, in lower case; '*' when there is none. */
  readonly agent: string
  readonly flags: readonly RobotsMetaFlag[]
  /** Characters of a snippet; -1: any number. */
  readonly maxSnippet?: number
  readonly maxImagePreview?: 'none' | 'standard' | 'large'
  /** Seconds; -1: any number. */
  readonly maxVideoPreview?: number
  /** ms since 1970 UTC. */
  readonly unavailableAfter?: number
  /** The combined result: `none` is noindex and nofollow; of contradicting rules the stricter one counts. */
  readonly noindex: boolean
  readonly nofollow: boolean
  /** Rules that are unknown, or whose value is unusable. */
  readonly unknown: readonly string[]
}

const VALUED = /^(max-snippet|max-image-preview|max-video-preview|unavailable_after) *:/i

/**
 * @param values  one header or meta value, or several headers of a response, in their order
 * @returns       one entry per named agent, in the order of first mention; rules of the same agent are combined
 */
export function parseRobotsMeta(values: string | readonly string[]): RobotsMeta[] {
  const byAgent = new Map<string, string[]>()
  for (const value of typeof values === 'string' ? [values] : values) {
    let agent = '*'
    for (const rule of rulesOf(value)) {
      const named = VALUED.test(rule) ? null : /^([A-Za-z_-]+)[ \t]*:[ \t]*([\s\S]*)$/.exec(rule)
      if (named !== null) agent = (named[1] as string).toLowerCase()
      const own = byAgent.get(agent) ?? []
      byAgent.set(agent, own)
      const text = named === null ? rule : (named[2] as string)
      if (text !== '') own.push(text)
    }
  }
  return [...byAgent].map(([agent, rules]) => put(agent, rules))
}

/** Splits rules at commas; a date contains commas too (`Wed, 25 Jun 2031 15:00:00 GMT`). */
function rulesOf(value: string): string[] {
  const rules: string[] = []
  let isCut = false
  for (const part of value.split(',').map((piece) => piece.trim())) {
    if (isCut) rules[rules.length - 1] += `, ${part}`
    else if (part !== '') rules.push(part)
    isCut = /unavailable_after *: *[A-Za-z]+$/i.test(part) // only this part is tested: the combined text can be as long as the value
  }
  return rules
}

function put(agent: string, rules: readonly string[]): RobotsMeta {
  const flags = new Set<RobotsMetaFlag>()
  const unknown: string[] = []
  let found: Pick<RobotsMeta, 'maxSnippet' | 'maxImagePreview' | 'maxVideoPreview' | 'unavailableAfter'> = {}
  for (const rule of rules) {
    const flag = FLAGS.find((one) => one === rule.toLowerCase())
    const value = flag === undefined ? ruleWithValue(rule, found) : undefined
    if (flag !== undefined) flags.add(flag)
    else if (value === undefined) unknown.push(rule)
    else found = { ...found, ...value }
  }
  return {
    agent,
    flags: [...flags],
    ...found,
    noindex: flags.has('noindex') || flags.has('none'),
    nofollow: flags.has('nofollow') || flags.has('none'),
    unknown,
  }
}

const PREVIEWS = ['none', 'standard', 'large'] as const

/** Adds a rule with a value; if the rule was named before, the stricter of both values counts. */
function ruleWithValue(rule: string, before: Partial<RobotsMeta>): Partial<RobotsMeta> | undefined {
  const at = rule.indexOf(':')
  const value = rule.slice(at + 1).trim()
  switch (at < 0 ? '' : rule.slice(0, at).trim().toLowerCase()) {
    case 'max-snippet':
      return /^-?\d+$/.test(value) ? { maxSnippet: fewer(before.maxSnippet, Number(value)) } : undefined
    case 'max-video-preview':
      return /^-?\d+$/.test(value) ? { maxVideoPreview: fewer(before.maxVideoPreview, Number(value)) } : undefined
    case 'max-image-preview': {
      const size = (PREVIEWS as readonly string[]).indexOf(value.toLowerCase())
      const other = before.maxImagePreview === undefined ? 2 : PREVIEWS.indexOf(before.maxImagePreview)
      return size < 0 ? undefined : { maxImagePreview: PREVIEWS[Math.min(size, other)] as (typeof PREVIEWS)[number] }
    }
    case 'unavailable_after': {
      const instant = Date.parse(value)
      return Number.isNaN(instant)
        ? undefined
        : { unavailableAfter: Math.min(before.unavailableAfter ?? Infinity, instant) }
    }
    default:
      return undefined
  }
}

/** The smaller of two limits; any negative number, or undefined, means no limit, which is returned as -1. */
function fewer(before: number | undefined, value: number): number {
  const most = (one: number): number => (one < 0 ? Infinity : one)
  const least = Math.min(most(before ?? -1), most(value))
  return least === Infinity ? -1 : least
}
