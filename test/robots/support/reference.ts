/**
 * robots.txt read the slow and obvious way, to compare with: a Latin-1 string per file, one list of rules per group,
 * every rule tried on every path by walking all positions at once. Written from the rules, not from the package.
 */
import type { Policy } from '@decorum/robots'

type Rule = { allow: boolean; pattern: string; line: number }
type Run = { tokens: string[]; rules: Rule[] }

const MISSPELT = ['dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw']

export class Reference {
  readonly #runs: Run[] = []

  constructor(source: Uint8Array, grammar: Policy['grammar']) {
    const google = grammar === 'google'
    const trim = (text: string): string =>
      google ? text.replace(/^[ \t\v\f]+|[ \t\v\f]+$/g, '') : text.replace(/^[ \t]+|[ \t]+$/g, '')
    // Under google a key is known by how it begins, else by its whole name.
    const isKey = (field: string, names: readonly string[]): boolean =>
      names.some((name) => (google ? field.startsWith(name) : field === name))
    let text = Buffer.from(source).toString('latin1')
    if (!google && /^(?:\xff\xfe|\xfe\xff)/.test(text)) {
      const encoding = text.startsWith('\xff') ? 'utf-16le' : 'utf-16be'
      text = Buffer.from(new TextDecoder(encoding).decode(source)).toString('latin1')
    }
    if (text.length > 512_000) {
      const cut = text.slice(0, 512_000)
      text = /[\r\n]/.test(text.charAt(512_000))
        ? cut
        : cut.slice(0, Math.max(cut.lastIndexOf('\n'), cut.lastIndexOf('\r')) + 1)
    }
    text = text.replace(/^\xef(?:\xbb\xbf?)?/, '')
    let open = false
    let rules = 0
    text.split(/\r\n|\r|\n/).forEach((whole, index) => {
      const head = whole.slice(0, 16_663)
      const line = trim((google ? (head.split('\0', 1)[0] as string) : head).split('#', 1)[0] as string)
      let at = line.indexOf(':')
      let value = trim(line.slice(at + 1))
      if (at < 0) {
        const words = line.split(/[ \t]+/)
        if (words.length !== 2) return
        at = (words[0] as string).length
        value = trim(words[1] as string)
      }
      const field = trim(line.slice(0, at)).toLowerCase()
      if (field === '') return
      if (isKey(field, ['user-agent', 'useragent', 'user agent'])) {
        if (!open) this.#runs.push({ tokens: [], rules: [] })
        open = true
        this.#runs
          .at(-1)
          ?.tokens.push(
            /^\*(?:$|[ \t\v\f])/.test(value) ? '*' : (/^[A-Za-z_-]*/.exec(value) as RegExpExecArray)[0].toLowerCase(),
          )
        return
      }
      const allow = isKey(field, ['allow'])
      if (!allow && !isKey(field, ['disallow', ...MISSPELT])) return
      const run = this.#runs.at(-1)
      if (!run) return
      open = false
      if (rules < 20_000) {
        rules++
        run.rules.push({ allow, pattern: value, line: index + 1 })
      }
    })
  }

  /** The line that decides, negative when it allows; 0 when none does. */
  decide(url: string, tokens: string[], policy: Policy): number {
    const named = tokens.map((token) => token.toLowerCase())
    const derived =
      policy.agentFallback === 'exact'
        ? []
        : named.flatMap((token) =>
            token
              .split('-')
              .map((_, i, parts) => parts.slice(0, -i).join('-'))
              .filter((part) => part !== ''),
          )
    const token = [...named, ...derived, '*'].find((name) => this.#runs.some((run) => run.tokens.includes(name)))
    const rules = this.#runs
      .filter((run) => token !== undefined && run.tokens.includes(token))
      .flatMap((run) => run.rules)
    const path = pathOf(url, policy)
    let best: { weight: number; allow: boolean; line: number } | undefined
    for (const rule of rules)
      for (const { pattern, weight } of variants(rule, policy)) {
        if (!walk(pattern, path)) continue
        const better = !best || weight > best.weight || (weight === best.weight && rule.allow && !best.allow)
        if (better) best = { weight, allow: rule.allow, line: rule.line }
      }
    if (best) return best.allow ? -best.line : best.line
    // A rule without a pattern decides nothing, but it is what is named: an allow before a disallow.
    const empty = rules.filter(({ pattern }) => pattern === '')
    return 0 - ((empty.find(({ allow }) => allow) ?? empty[0])?.line ?? 0)
  }
}

/** A pattern as a list of octets, 'any' and 'end'. */
type Pattern = (string | { star: true } | { end: true })[]

function variants(rule: Rule, policy: Policy): { pattern: Pattern; weight: number }[] {
  const parts: Pattern = []
  let weight = 0
  const isPlain = policy.encoding === 'as-written' ? /[\0-\x7f]/ : STANDS
  const pattern = policy.slashIsMeant && !rule.allow && /^[^/*$]/.test(rule.pattern) ? `/${rule.pattern}` : rule.pattern
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern.charAt(i)
    const encoded = /^%[0-9a-f]{2}/i.exec(pattern.slice(i))?.[0]
    let octets: string
    if (encoded) {
      octets = unencoded(encoded, policy)
      i += 2
    } else if (c === '*') {
      parts.push({ star: true })
      weight++
      continue
    } else if (c === '$' && i === pattern.length - 1) {
      parts.push({ end: true })
      weight++
      continue
    } else if (c === '%' && /^(?:$|\*|[0-9a-f])/i.test(pattern.slice(i + 1))) octets = c
    else octets = isPlain.test(c) ? c : encoded1(c)
    weight += octets.length
    parts.push(...octets)
  }
  let trailing = 0
  while (
    trailing < parts.length &&
    typeof parts.at(-1 - trailing) === 'object' &&
    'star' in (parts.at(-1 - trailing) as object)
  )
    trailing++
  const all = [{ pattern: parts, weight: policy.trailingStarCounts ? weight : Math.max(1, weight - trailing) }]
  const slash = parts.lastIndexOf('/')
  const file = parts.slice(slash, slash + 10).map((part) => (typeof part === 'string' ? part : ' '))
  if (policy.indexOpensFolder && rule.allow && slash >= 0 && file.join('') === '/index.htm')
    all.push({ pattern: [...parts.slice(0, slash + 1), { end: true }], weight: slash + 2 })
  return all
}

/** What stands for itself in a URL; all else is meant encoded. */
const STANDS = /[A-Za-z0-9._~/?:@!$&()*+,;=-]/

function encoded1(octet: string): string {
  return `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

function unencoded(encoded: string, policy: Policy): string {
  const upper = encoded.toUpperCase()
  const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
  return policy.encoding === 'unreserved' && /[A-Za-z0-9._~*$-]/.test(character) ? character : upper
}

function pathOf(url: string, policy: Policy): string {
  const { href, origin } = new URL(url)
  const path = (href.split('#', 1)[0] as string).slice(origin.length)
  return policy.encoding === 'as-written'
    ? path
    : path.replace(/(%[0-9a-f]{2})|(%)(?=[0-9a-f])|./gis, (octet, encoded?: string, begun?: string) => {
        if (encoded !== undefined) return unencoded(encoded, policy)
        return begun !== undefined || STANDS.test(octet) ? octet : encoded1(octet)
      })
}

/** All positions that the pattern may have reached, octet by octet. */
function walk(pattern: Pattern, path: string): boolean {
  let reached = new Set([0])
  for (const part of pattern) {
    const next = new Set<number>()
    if (typeof part === 'string') {
      for (const at of reached) if (path.charAt(at) === part) next.add(at + 1)
    } else if ('star' in part) for (let at = Math.min(...reached); at <= path.length; at++) next.add(at)
    else if (reached.has(path.length)) next.add(path.length)
    reached = next
    if (reached.size === 0) return false
  }
  return pattern.length > 0
}
