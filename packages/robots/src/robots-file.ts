/** A file as it was read: groups, rules and records, before any policy looks at them. */
import type { OtherRecord, Warning } from './robots-txt.ts'

/**
 * A run of user-agent lines with the rules below it: rules [from, to) of the file.
 * `names` as written, `tokens` as compared ('*' for everybody, '' for a name that nobody has).
 */
export interface Block {
  readonly names: string[]
  readonly tokens: string[]
  readonly line: number
  readonly from: number
  to: number
  delays?: Delay[]
}

/** A crawl-delay, binding the names [from, upTo) of its block. */
export interface Delay {
  readonly seconds: number
  readonly written: string
  readonly line: number
  readonly from: number
  readonly upTo: number
}

export interface RobotsFile {
  /** All patterns as written, end to end. */
  readonly octets: Uint8Array
  /** Rule r: octets [marks[2r], marks[2r+2]); marks[2r+1] is its line × 2, + 1 when it allows. */
  readonly marks: Int32Array
  readonly rules: number
  /** Some pattern holds '%' or an octet outside ASCII: patterns must be normalised before they are compared. */
  readonly encoded: boolean
  readonly blocks: readonly Block[]
  /** Token → its blocks, in the order of the file. */
  readonly groups: ReadonlyMap<string, readonly Block[]>
  readonly sitemaps: readonly string[]
  readonly warnings: readonly Warning[]
  readonly records: readonly OtherRecord[]
}
