/** Octets → groups of rules. Written in the next change. */
import type { Policy } from './policies.ts'
import type { RobotsTxt } from './robots-txt.ts'

export interface ParseOptions {
  /** Default: `policies.decorum`. */
  readonly policy?: Policy
  /** The source was cut by its reader: its last line is dropped unless it is ended. */
  readonly truncated?: boolean
}

export function parseRobots(_source: string | Uint8Array, _options?: ParseOptions): RobotsTxt {
  throw new Error('parseRobots is not written yet')
}
