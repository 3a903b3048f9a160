/** Parses a robots.txt. */
import { AgentGroups } from './agent-groups.ts'
import { contentOf } from './content.ts'
import { type Policy, policies } from './policies.ts'
import { readFile } from './read-file.ts'
import type { RobotsTxt } from './robots-txt.ts'
import type { RobotsSource } from './source.ts'
import { RobotsView } from './view.ts'

export interface ParseOptions {
  /** Default: `policies.decorum`. */
  readonly policy?: Policy
  /**
   * The source was cut by its reader, so its last line is dropped unless it has a line end. Not needed when at least one byte more than
   * ROBOTS_MAX_BYTES is passed: then the cut is made here.
   */
  readonly truncated?: boolean
}

/**
 * Reads a robots.txt.
 * @param source  bytes as received (decoded from gzip and the like), or text; text counts as its UTF-8
 * @returns       the rules under `options.policy`; `under` gives the same file under another policy
 */
export function parseRobots(source: RobotsSource, options?: ParseOptions): RobotsTxt {
  const policy = options?.policy ?? policies.decorum
  const file = readFile(source, options?.truncated ?? false, policy.grammar, contentOf)
  return new RobotsView(new AgentGroups(file, policy), policy)
}
