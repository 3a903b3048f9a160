/** A file as one policy reads it: the object that callers hold. */
import { type Agent, sameAgent, tokenInBrowserAgent, tokensOf } from './agent.ts'
import { GroupRules } from './group-rules.ts'
import { MAX_LOSERS } from './limits.ts'
import { startPath } from './match.ts'
import { isRobotsTxt, Path } from './path.ts'
import { normalised, type Patterns } from './patterns.ts'
import type { Policy } from './policies.ts'
import { printFile } from './print.ts'
import {
  blocksOf,
  type Delay,
  groupOf,
  nameMeans,
  type RobotsFile,
  recordOf,
  ruleOf,
  rulesOf,
  sitemapsOf,
  textIn,
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

/** The path of the question at hand; used again for the next one, so that a verdict allocates nothing. */
const path = /* @__PURE__ */ new Path()

/** Agents whose groups a view remembers; a crawler has one or a few. */
const MAX_REMEMBERED = 64

const NONE: readonly never[] = []

/** Policies that differ only in what answers mean and when to ask share a view, and with it an index. */
function readAlike(a: Policy, b: Policy): boolean {
  return a === b || READING.every((key) => a[key] === b[key])
}

const READING = [
  'grammar',
  'encoding',
  'agentFallback',
  'trailingStarCounts',
  'indexOpensFolder',
  'maxCrawlDelay',
] as const

function warnOfBrowser(userAgent: string): string {
  return `this is a browser's User-Agent; '${tokenInBrowserAgent(userAgent)}' is taken as its product token`
}

const textOfUrl = (url: string | URL): string => (typeof url === 'string' ? url : url.href)

type ReadFile = (source: Uint8Array, truncated: boolean, grammar: Policy['grammar']) => RobotsFile

/** The group that an agent falls under. */
interface Chosen {
  /** A copy, since a caller's list may change. */
  readonly agent: Agent
  /** '' when there is none, not even for everybody. */
  readonly token: string
  readonly blocks: readonly number[]
  readonly rules: GroupRules
}

export class RobotsView implements RobotsTxt {
  readonly policy: Policy
  readonly #file: RobotsFile
  readonly #readFile: ReadFile
  #patterns: Patterns | undefined
  #last: Chosen | undefined
  #remembered: readonly Chosen[] = NONE
  #others: readonly RobotsView[] = NONE

  /** @param read  reads the source again, for the rare file that another policy reads differently line by line */
  constructor(file: RobotsFile, policy: Policy, read: ReadFile) {
    this.#file = file
    this.policy = policy
    this.#readFile = read
  }

  isAllowed(at: string | URL, agent: Agent): boolean {
    const url = textOfUrl(at)
    const { rules } = this.#choose(agent)
    this.#read(url)
    const winner = rules.winner(path)
    return winner < 0 || rules.allows(winner) || isRobotsTxt(url)
  }

  decide(at: string | URL, agent: Agent): Verdict {
    const url = textOfUrl(at)
    if (isRobotsTxt(url)) return { allowed: true, why: 'robots.txt' }
    const { rules, blocks } = this.#choose(agent)
    if (blocks.length === 0) return { allowed: true, why: 'no-group' }
    this.#read(url)
    const winner = rules.winner(path)
    const deciding = winner < 0 ? rules.empty() : winner
    if (deciding < 0) return { allowed: true, why: 'no-match', group: groupOf(this.#file, blocks[0] as number) }
    const rule = ruleOf(this.#file, deciding)
    return {
      allowed: winner < 0 || rule.type === 'allow',
      why: winner < 0 ? 'empty-rule' : 'rule',
      rule,
      group: groupOf(this.#file, this.#blockOf(blocks, deciding, 1)),
    }
  }

  explain(at: string | URL, agent: Agent): Explanation {
    const url = textOfUrl(at)
    const verdict = this.decide(url, agent)
    const { rules, token } = this.#choose(agent)
    this.#read(url)
    const winner = rules.winner(path)
    const lost: { rule: number; weight: number }[] = []
    let winning = 0
    rules.matching(path, (rule, weight) => {
      if (rule === winner) winning = weight
      else lost.push({ rule, weight })
    })
    lost.sort((a, b) => b.weight - a.weight || a.rule - b.rule)
    const losers = lost.slice(0, MAX_LOSERS).map(({ rule, weight }): Loser => {
      const tie = rules.allows(rule) === rules.allows(winner) ? 'tie-line-above-wins' : 'tie-allow-wins'
      return { ...ruleOf(this.#file, rule), why: weight < winning ? 'shorter' : tie }
    })
    const delay = this.explainDelay(agent)
    const browser = (typeof agent === 'string' ? [agent] : agent).find(
      (name) => tokenInBrowserAgent(name) !== undefined,
    )
    return {
      ...verdict,
      path: path.toString(),
      ...(token === '' ? {} : { token }),
      losers,
      losersInAll: lost.length,
      ...(delay === undefined ? {} : { crawlDelay: delay }),
      ...(browser === undefined ? {} : { agentWarning: warnOfBrowser(browser) }),
    }
  }

  crawlDelay(agent: Agent, options?: { readonly clamped?: boolean }): number | undefined {
    const delay = this.explainDelay(agent)
    return options?.clamped === true ? delay?.clampedSeconds : delay?.seconds
  }

  explainDelay(agent: Agent): DelayExplanation | undefined {
    const { delays } = this.#file
    if (delays.length === 0) return undefined
    const { token, blocks } = this.#choose(agent)
    let largest: Delay | undefined
    for (const delay of delays) {
      if (largest && largest.seconds >= delay.seconds) continue
      for (let n = delay.from; n < delay.upTo; n++)
        if (token !== '' && nameMeans(this.#file, n, token)) {
          largest = delay
          break
        }
    }
    if (largest === undefined) return undefined
    const { seconds, line, from, at, end } = largest
    const { maxCrawlDelay: cap } = this.policy
    return {
      seconds,
      clampedSeconds: cap === undefined ? seconds : Math.min(seconds, cap),
      ...(cap === undefined || seconds <= cap ? {} : { clampedBy: cap }),
      written: textIn(this.#file, at, end),
      line,
      token,
      group: groupOf(this.#file, this.#blockOf(blocks, from, 0)),
    }
  }

  *groups(): IterableIterator<GroupWithRules> {
    const file = this.#file
    for (let block = 0; block < file.blocks; block++)
      yield { ...groupOf(file, block), rules: Array.from(rulesOf(file, block)) }
  }

  *rules(agent: Agent): IterableIterator<Rule> {
    for (const block of this.#choose(agent).blocks) yield* rulesOf(this.#file, block)
  }

  forOrigin(of: string | URL): OriginRobots {
    const { origin } = new URL(String(of))
    const within = <T>(url: string | URL, ask: () => T): T | undefined =>
      URL.canParse(String(url), origin) && new URL(String(url), origin).origin === origin ? ask() : undefined
    return {
      origin,
      isAllowed: (url, agent) => within(url, () => this.isAllowed(url, agent)),
      decide: (url, agent) => within(url, () => this.decide(url, agent)),
      explain: (url, agent) => within(url, () => this.explain(url, agent)),
    }
  }

  get sitemaps(): string[] {
    return sitemapsOf(this.#file)
  }

  get warnings(): Warning[] {
    return warningsOf(this.#file)
  }

  get records(): OtherRecord[] {
    return this.#file.records.map((record) => recordOf(this.#file, record))
  }

  under(policy: Policy): RobotsTxt {
    if (readAlike(policy, this.policy)) return this
    let view = this.#others.find((other) => readAlike(policy, other.policy))
    if (view === undefined) {
      view = new RobotsView(this.#fileUnder(policy), policy, this.#readFile)
      this.#others = [...this.#others, view] // there are no more of them than ways of reading
    }
    return view
  }

  /** The same file, unless some line of it is read differently. */
  #fileUnder({ grammar }: Policy): RobotsFile {
    const { source } = this.#file
    if (source === undefined || grammar === this.#file.grammar) return this.#file
    const other = this.#others.find((view) => view.policy.grammar === grammar)
    return other === undefined ? this.#readFile(source, false, grammar) : other.#file
  }

  toString(): string {
    return printFile(this.#file)
  }

  #read(url: string): void {
    path.read(url, this.policy.encoding)
    startPath()
  }

  /** The group of an agent: its own, of the most specific name that has one, or else everybody's. */
  #choose(agent: Agent): Chosen {
    if (this.#last !== undefined && sameAgent(this.#last.agent, agent)) return this.#last
    let chosen = this.#remembered.find((one) => sameAgent(one.agent, agent))
    if (chosen === undefined) {
      chosen = this.#find(typeof agent === 'string' ? agent : [...agent])
      this.#remembered = [...this.#remembered.slice(1 - MAX_REMEMBERED), chosen]
    }
    this.#last = chosen
    return chosen
  }

  #find(agent: Agent): Chosen {
    const file = this.#file
    let token = ''
    let blocks: number[] = []
    for (const name of [...tokensOf(agent, this.policy.agentFallback), '*']) {
      blocks = blocksOf(file, name)
      if (blocks.length === 0) continue
      token = name
      break
    }
    // Two names that lead to the same blocks share their index.
    for (const other of this.#remembered)
      if (other.blocks.length === blocks.length && blocks.every((block, i) => block === other.blocks[i]))
        return { agent, token, blocks, rules: other.rules }
    this.#patterns ??= normalised(file, this.policy.encoding)
    const ranges = blocks.flatMap((block) => [
      file.marks[file.startsAt + 2 * block + 1] as number,
      file.marks[file.startsAt + 2 * block + 3] as number,
    ])
    return { agent, token, blocks, rules: new GroupRules(this.#patterns, this.policy, ranges) }
  }

  /** The block that holds a name, or (offset 1) a rule: a group may be spread over several. */
  #blockOf(blocks: readonly number[], index: number, offset: 0 | 1): number {
    const { marks, startsAt } = this.#file
    return blocks.find((block) => index < (marks[startsAt + 2 * block + 2 + offset] as number)) as number
  }
}
