/** Only parses and matches, for programs where every kilobyte counts. `parseRobots` gives the same answers, and more. */
import type { Agent } from './agent.ts'
import { AgentGroups } from './agent-groups.ts'
import { readFile } from './read-file.ts'
import { type Reading, readings } from './readings.ts'
import { absoluteSitemapsOf } from './robots-file.ts'
import type { RobotsRules, Verdict } from './robots-txt.ts'
import type { RobotsSource } from './source.ts'

export type { Agent } from './agent.ts'
export { ROBOTS_MAX_BYTES } from './limits.ts'
export type { ProfileName, Reading } from './readings.ts'
export { readings } from './readings.ts'
export type { Group, RobotsRules, Rule, Verdict, VerdictReason } from './robots-txt.ts'
export type { RobotsSource } from './source.ts'

export interface RulesOptions {
  /** How the file is parsed; a `Policy` is accepted too. Default: `readings.decorum`. */
  readonly policy?: Reading
  /** As in `parseRobots`. */
  readonly truncated?: boolean
}

/** Parses a robots.txt like `parseRobots`. */
export function parseRules(source: RobotsSource, options?: RulesOptions): RobotsRules {
  const reading = options?.policy ?? readings.decorum
  return new RulesView(new AgentGroups(readFile(source, options?.truncated ?? false, reading.grammar), reading))
}

class RulesView implements RobotsRules {
  readonly #groups: AgentGroups

  constructor(groups: AgentGroups) {
    this.#groups = groups
  }

  isAllowed(url: string | URL, agent: Agent): boolean {
    return this.#groups.isAllowed(url, agent)
  }

  decide(url: string | URL, agent: Agent): Verdict {
    return this.#groups.decide(url, agent)
  }

  crawlDelay(agent: Agent): number | undefined {
    return this.#groups.delayOf(agent)?.seconds
  }

  get sitemaps(): string[] {
    return absoluteSitemapsOf(this.#groups.file)
  }
}
