/** Finds the group of an agent, and its rules, in one file under one policy. Both views of a file use this. */
import { type Agent, sameAgent, tokensOf } from './agent.ts'
import { delaySeconds } from './fields.ts'
import { allows, GroupRules } from './group-rules.ts'
import { startPath } from './match.ts'
import { isRobotsTxt, Path } from './path.ts'
import { normalised, type Patterns } from './patterns.ts'
import type { Reading } from './readings.ts'
import {
  AGENT,
  DELAY,
  entriesOf,
  groupOf,
  isFirst,
  kindOf,
  nameMeans,
  type RobotsFile,
  ruleOf,
  textOfEntry,
} from './robots-file.ts'
import type { Verdict } from './robots-txt.ts'

/** The path that is being judged; reused for the next one, so that a verdict allocates nothing. */
const path = /* @__PURE__ */ new Path()

/** Number of agents whose groups are cached; a crawler has one or a few. */
const MAX_REMEMBERED = 64

/** The group that applies to an agent. */
export interface Chosen {
  /** A copy, since the caller's list may change. */
  readonly agent: Agent
  /** The agent's token that the group names, or '*'; '' when there is no group. */
  readonly token: string
  /** The blocks of the group, as entries of the file: [ranges[0], ranges[1]), [ranges[2], ranges[3]) … */
  readonly ranges: readonly number[]
  readonly rules: GroupRules
  /** null: not looked up yet. */
  delay: FoundDelay | undefined | null
}

export interface FoundDelay {
  readonly seconds: number
  readonly entry: number
  /** The entry where the block of the delay begins. */
  readonly first: number
}

export class AgentGroups {
  readonly file: RobotsFile
  readonly reading: Reading
  #patterns: Patterns | undefined
  #last: Chosen | undefined
  #remembered: readonly Chosen[] = NONE

  constructor(file: RobotsFile, reading: Reading) {
    this.file = file
    this.reading = reading
  }

  isAllowed(at: string | URL, agent: Agent): boolean {
    const url = textOfUrl(at)
    const { rules } = this.choose(agent)
    const winner = rules.winner(this.read(url))
    return winner < 0 || allows(rules, winner) || isRobotsTxt(url)
  }

  decide(at: string | URL, agent: Agent): Verdict {
    const { file } = this
    const url = textOfUrl(at)
    if (isRobotsTxt(url)) return { allowed: true, why: 'robots.txt' }
    const { rules, ranges } = this.choose(agent)
    if (ranges.length === 0) return { allowed: true, why: 'no-group' }
    const winner = rules.winner(this.read(url))
    const deciding = winner < 0 ? rules.empty() : winner
    if (deciding < 0) return { allowed: true, why: 'no-match', group: groupOf(file, ranges[0] as number) }
    let block = 0
    while (deciding >= (ranges[block + 1] as number)) block += 2
    return {
      allowed: winner < 0 || allows(rules, winner),
      why: winner < 0 ? 'empty-rule' : 'rule',
      rule: ruleOf(file, deciding),
      group: groupOf(file, ranges[block] as number),
    }
  }

  /** The crawl-delay of an agent: the largest that applies to its token. */
  delayOf(agent: Agent): FoundDelay | undefined {
    const chosen = this.choose(agent)
    if (chosen.delay === null) chosen.delay = this.#findDelay(chosen)
    return chosen.delay
  }

  #findDelay({ token, ranges }: Chosen): FoundDelay | undefined {
    const { file } = this
    let largest: FoundDelay | undefined
    for (let i = 0; i < ranges.length; i += 2) {
      const first = ranges[i] as number
      let binds = false
      let closed = false
      for (let entry = first; entry < (ranges[i + 1] as number); entry++) {
        const kind = kindOf(file, entry)
        if (kind === AGENT) {
          // For delays only, a delay line ends the run of user-agent lines above it.
          binds = nameMeans(file, entry, token) || (binds && !closed)
          closed = false
        } else if (kind === DELAY) {
          const seconds = delaySeconds(textOfEntry(file, entry))
          if (binds && (largest === undefined || seconds > largest.seconds)) largest = { seconds, entry, first }
          closed = true
        }
      }
    }
    return largest
  }

  /** Converts a URL to the path that patterns are compared with; valid until the next call. */
  read(url: string): Path {
    path.read(url, this.reading.encoding)
    startPath()
    return path
  }

  /** The group of an agent: that of its most specific name that has one, or else the group for '*'. */
  choose(agent: Agent): Chosen {
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
    const { file, reading } = this
    const tokens = [...tokensOf(agent, reading.agentFallback), '*']
    const entries = entriesOf(file)
    const none = tokens.length
    let best = none
    let ranges: number[] = []
    let first = 0
    /** Index of the most specific token that the block names; `none`: it names no token. */
    let named = none
    for (let entry = 0; entry <= entries; entry++) {
      if (entry === entries || isFirst(file, entry)) {
        if (named < best) {
          best = named
          ranges = []
        }
        if (named < none && named === best) ranges.push(first, entry)
        first = entry
        named = none
      }
      if (entry < entries && kindOf(file, entry) === AGENT)
        for (let i = 0; i < named; i++) if (nameMeans(file, entry, tokens[i] as string)) named = i
    }
    const token = tokens[best] ?? ''
    // Agents with the same blocks share their rules and index.
    const other = this.#remembered.find((one) => String(one.ranges) === String(ranges))
    this.#patterns ??= normalised(file, reading)
    const rules = other?.rules ?? new GroupRules(this.#patterns, reading, ranges)
    return { agent, token, ranges, rules, delay: null }
  }
}

const NONE: readonly never[] = []

export function textOfUrl(url: string | URL): string {
  return typeof url === 'string' ? url : url.href
}
