/** A file as one policy reads it: the object that callers hold. */
import { type Agent, tokensOf } from './agent.ts'
import { GroupRules } from './group-rules.ts'
import { MAX_LOSERS } from './limits.ts'
import { startPath } from './match.ts'
import { textOf } from './octets.ts'
import { isRobotsTxt, Path } from './path.ts'
import { normalised, type Patterns } from './patterns.ts'
import type { Policy } from './policies.ts'
import { printFile } from './print.ts'
import type { Block, RobotsFile } from './robots-file.ts'
import type {
  DelayExplanation,
  Explanation,
  Group,
  Loser,
  OtherRecord,
  RobotsTxt,
  Rule,
  Verdict,
  Warning,
} from './robots-txt.ts'

/** The path of the question at hand; used again for the next one, so that a verdict allocates nothing. */
const path = /* @__PURE__ */ new Path()

/** Agents whose groups a view remembers; a crawler has one or a few. */
const MAX_REMEMBERED = 64

interface Chosen {
  readonly token: string
  readonly blocks: readonly Block[]
  readonly rules: GroupRules
}

export class RobotsView implements RobotsTxt {
  readonly policy: Policy
  readonly #file: RobotsFile
  #patterns: Patterns | undefined
  #chosen: Map<string, Chosen | null> | undefined
  #lastAgent: Agent | undefined
  #lastChosen: Chosen | null = null
  #others: RobotsView[] | undefined

  constructor(file: RobotsFile, policy: Policy) {
    this.#file = file
    this.policy = policy
  }

  isAllowed(url: string, agent: Agent): boolean {
    const chosen = this.#choose(agent)
    if (chosen === null) return true
    this.#read(url)
    const winner = chosen.rules.winner(path)
    return winner < 0 || chosen.rules.allows(winner) || isRobotsTxt(url)
  }

  decide(url: string, agent: Agent): Verdict {
    if (isRobotsTxt(url)) return { allowed: true, why: 'robots.txt' }
    const chosen = this.#choose(agent)
    if (chosen === null) return { allowed: true, why: 'no-group' }
    this.#read(url)
    const winner = chosen.rules.winner(path)
    if (winner < 0) return { allowed: true, why: 'no-match', group: groupOf(chosen.blocks[0] as Block) }
    const rule = this.#rule(winner)
    return { allowed: rule.type === 'allow', why: 'rule', rule, group: groupOf(blockOf(chosen.blocks, winner)) }
  }

  explain(url: string, agent: Agent): Explanation {
    const verdict = this.decide(url, agent)
    const chosen = this.#choose(agent)
    this.#read(url)
    const shown = textOf(path.octets.map(showStar), 0, path.length)
    const losers: Loser[] = []
    if (chosen === null) return { ...verdict, path: shown, losers, losersInAll: 0 }
    const winner = chosen.rules.winner(path)
    const lost: { rule: number; weight: number }[] = []
    let winning = 0
    chosen.rules.matching(path, (rule, weight) => {
      if (rule === winner) winning = weight
      else lost.push({ rule, weight })
    })
    lost.sort((a, b) => b.weight - a.weight || a.rule - b.rule)
    for (const { rule, weight } of lost.slice(0, MAX_LOSERS)) {
      const type = chosen.rules.allows(rule) === chosen.rules.allows(winner) ? 'tie-line-above-wins' : 'tie-allow-wins'
      losers.push({ ...this.#rule(rule), why: weight < winning ? 'shorter' : type })
    }
    return { ...verdict, path: shown, token: chosen.token, losers, losersInAll: lost.length }
  }

  crawlDelay(agent: Agent): number | undefined {
    return this.explainDelay(agent)?.seconds
  }

  explainDelay(agent: Agent): DelayExplanation | undefined {
    const chosen = this.#choose(agent)
    let largest: DelayExplanation | undefined
    for (const block of chosen?.blocks ?? [])
      for (const { seconds, written, line, from, upTo } of block.delays ?? []) {
        if (largest && largest.seconds >= seconds) continue
        const token = chosen?.token ?? ''
        if (block.tokens.slice(from, upTo).includes(token))
          largest = { seconds, written, line, token, group: groupOf(block) }
      }
    return largest
  }

  get sitemaps(): string[] {
    return [...this.#file.sitemaps]
  }

  get warnings(): Warning[] {
    return [...this.#file.warnings]
  }

  get records(): OtherRecord[] {
    return [...this.#file.records]
  }

  under(policy: Policy): RobotsTxt {
    if (policy === this.policy) return this
    this.#others ??= []
    let view = this.#others.find((other) => other.policy === policy)
    if (view === undefined) {
      view = new RobotsView(this.#file, policy)
      this.#others.push(view)
      if (this.#others.length > MAX_REMEMBERED) this.#others.shift()
    }
    return view
  }

  toString(): string {
    return printFile(this.#file)
  }

  #read(url: string): void {
    path.read(url, this.policy.encoding)
    startPath()
  }

  /** The group of an agent: its own, of the most specific name that has one, or else everybody's. */
  #choose(agent: Agent): Chosen | null {
    if (typeof agent === 'string' && agent === this.#lastAgent) return this.#lastChosen
    const key = typeof agent === 'string' ? agent : agent.join('\n')
    this.#chosen ??= new Map()
    let chosen = this.#chosen.get(key)
    if (chosen === undefined) {
      chosen = this.#find(agent)
      if (this.#chosen.size >= MAX_REMEMBERED) this.#chosen.clear()
      this.#chosen.set(key, chosen)
    }
    this.#lastAgent = agent
    this.#lastChosen = chosen
    return chosen
  }

  #find(agent: Agent): Chosen | null {
    const { groups } = this.#file
    const token = tokensOf(agent, this.policy.agentFallback).find((name) => groups.has(name)) ?? '*'
    const blocks = groups.get(token)
    if (blocks === undefined) return null
    // Two names that lead to one group share its index.
    for (const other of this.#chosen?.values() ?? [])
      if (other?.blocks.length === blocks.length && blocks.every((block, i) => block === other.blocks[i]))
        return { token, blocks, rules: other.rules }
    this.#patterns ??= normalised(this.#file, this.policy.encoding)
    return { token, blocks, rules: new GroupRules(this.#patterns, this.policy, blocks) }
  }

  #rule(rule: number): Rule {
    const { octets, marks } = this.#file
    const lineAndType = marks[2 * rule + 1] as number
    return {
      type: (lineAndType & 1) === 1 ? 'allow' : 'disallow',
      pattern: textOf(octets, marks[2 * rule] as number, marks[2 * rule + 2] as number),
      line: lineAndType >> 1,
    }
  }
}

/** The block that holds a rule: a group may be spread over several. */
function blockOf(blocks: readonly Block[], rule: number): Block {
  return blocks.find((block) => rule >= block.from && rule < block.to) as Block
}

function groupOf(block: Block): Group {
  return { agents: block.names, line: block.line }
}

function showStar(octet: number): number {
  return octet === 0xff ? 0x2a : octet
}
