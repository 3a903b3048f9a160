/** A file under one policy: the object that `parseRobots` returns. */
import { type Agent, tokenInBrowserAgent } from './agent.ts'
import { AgentGroups, textOfUrl } from './agent-groups.ts'
import { contentOf } from './content.ts'
import { allows, weightIfMatching } from './group-rules.ts'
import { MAX_LOSERS } from './limits.ts'
import { textOfPath } from './path.ts'
import type { Policy } from './policies.ts'
import { printFile } from './print.ts'
import { readFile } from './read-file.ts'
import { type Reading, readings } from './readings.ts'
import {
  ALLOW,
  absoluteSitemapsOf,
  blocksOf,
  groupOf,
  kindOf,
  lineOf,
  type RobotsFile,
  recordsOf,
  ruleOf,
  sitemapsOf,
  textOfEntry,
} from './robots-file.ts'
import type {
  DelayExplanation,
  Explanation,
  GroupWithRules,
  Loser,
  OriginRobots,
  OtherRecord,
  RobotsTxt,
  Rule,
  Verdict,
  Warning,
} from './robots-txt.ts'
import { warningsOf } from './warnings.ts'

const NONE: readonly never[] = []

/** Whether two policies parse alike: if so they share a view and its index, even if they differ in the meaning of answers or in retries. */
function readAlike(a: Policy, b: Policy): boolean {
  return (Object.keys(readings.coccoc) as (keyof Reading)[]).every((key) => a[key] === b[key])
}

export class RobotsView implements RobotsTxt {
  readonly policy: Policy
  readonly #groups: AgentGroups
  #others: readonly RobotsView[] = NONE

  constructor(groups: AgentGroups, policy: Policy) {
    this.#groups = groups
    this.policy = policy
  }

  isAllowed(url: string | URL, agent: Agent): boolean {
    return this.#groups.isAllowed(url, agent)
  }

  decide(url: string | URL, agent: Agent): Verdict {
    return this.#groups.decide(url, agent)
  }

  explain(at: string | URL, agent: Agent): Explanation {
    const groups = this.#groups
    const { file } = groups
    const verdict = groups.decide(at, agent)
    const { rules, token } = groups.choose(agent)
    const path = groups.read(textOfUrl(at))
    const winner = rules.winner(path)
    const lost: { rule: number; weight: number }[] = []
    let winning = 0
    rules.each((rule) => {
      const weight = weightIfMatching(rules, rule, path)
      if (rule === winner) winning = weight
      else if (weight > 0) lost.push({ rule, weight })
    })
    lost.sort((a, b) => b.weight - a.weight || a.rule - b.rule)
    const losers = lost.slice(0, MAX_LOSERS).map(({ rule, weight }): Loser => {
      const tie = allows(rules, rule) === allows(rules, winner) ? 'tie-line-above-wins' : 'tie-allow-wins'
      return { ...ruleOf(file, rule), why: weight < winning ? 'shorter' : tie }
    })
    const delay = this.explainDelay(agent)
    const browser = (typeof agent === 'string' ? [agent] : agent).map(tokenInBrowserAgent).find(Boolean)
    return {
      ...verdict,
      path: textOfPath(path),
      ...(token === '' ? {} : { token }),
      losers,
      losersInAll: lost.length,
      ...(delay === undefined ? {} : { crawlDelay: delay }),
      ...(browser === undefined
        ? {}
        : { agentWarning: `this is a browser's User-Agent; '${browser}' is taken as its product token` }),
    }
  }

  crawlDelay(agent: Agent, options?: { readonly clamped?: boolean }): number | undefined {
    const delay = this.explainDelay(agent)
    return options?.clamped === true ? delay?.clampedSeconds : delay?.seconds
  }

  explainDelay(agent: Agent): DelayExplanation | undefined {
    const { file } = this.#groups
    const found = this.#groups.delayOf(agent)
    if (found === undefined) return undefined
    const { seconds, entry, first } = found
    const { maxCrawlDelay: cap } = this.policy
    return {
      seconds,
      clampedSeconds: cap === undefined ? seconds : Math.min(seconds, cap),
      ...(cap === undefined || seconds <= cap ? {} : { clampedBy: cap }),
      written: textOfEntry(file, entry),
      line: lineOf(file, entry),
      token: this.#groups.choose(agent).token,
      group: groupOf(file, first),
    }
  }

  *groups(): IterableIterator<GroupWithRules> {
    const { file } = this.#groups
    for (const [first, end] of blocksOf(file)) yield { ...groupOf(file, first), rules: [...rulesIn(file, first, end)] }
  }

  *rules(agent: Agent): IterableIterator<Rule> {
    const { ranges } = this.#groups.choose(agent)
    for (let i = 0; i < ranges.length; i += 2)
      yield* rulesIn(this.#groups.file, ranges[i] as number, ranges[i + 1] as number)
  }

  forOrigin(of: string | URL): OriginRobots {
    const { origin } = new URL(String(of))
    const within = <T>(url: string | URL, read: () => T): T | undefined =>
      URL.canParse(String(url), origin) && new URL(String(url), origin).origin === origin ? read() : undefined
    return {
      origin,
      isAllowed: (url, agent) => within(url, () => this.isAllowed(url, agent)),
      decide: (url, agent) => within(url, () => this.decide(url, agent)),
      explain: (url, agent) => within(url, () => this.explain(url, agent)),
    }
  }

  get sitemaps(): string[] {
    return absoluteSitemapsOf(this.#groups.file)
  }

  sitemapsAt(url: string | URL): string[] {
    const base = URL.canParse('/robots.txt', String(url)) ? new URL('/robots.txt', url) : undefined
    return sitemapsOf(this.#groups.file).flatMap((text) => {
      if (/^https?:\/\//i.test(text)) return [text]
      return base !== undefined && URL.canParse(text, base.href) ? [new URL(text, base).href] : []
    })
  }

  get warnings(): Warning[] {
    return warningsOf(this.#groups.file)
  }

  get records(): OtherRecord[] {
    return recordsOf(this.#groups.file)
  }

  under(policy: Policy): RobotsTxt {
    if (readAlike(policy, this.policy)) return this
    let view = this.#others.find((other) => readAlike(policy, other.policy))
    if (view === undefined) {
      view = new RobotsView(new AgentGroups(this.#fileUnder(policy), policy), policy)
      this.#others = [...this.#others, view] // at most one for each way of parsing
    }
    return view
  }

  /** The same file; parsed again when the other grammar parses some line differently. */
  #fileUnder({ grammar }: Policy): RobotsFile {
    const { file } = this.#groups
    if (file.source === undefined || grammar === file.grammar) return file
    const other = this.#others.find((view) => view.policy.grammar === grammar)
    return other === undefined ? readFile(file.source, file.truncated, grammar, contentOf) : other.#groups.file
  }

  toString(): string {
    return printFile(this.#groups.file)
  }
}

function* rulesIn(file: RobotsFile, first: number, end: number): IterableIterator<Rule> {
  for (let entry = first; entry < end; entry++) if (kindOf(file, entry) <= ALLOW) yield ruleOf(file, entry)
}
