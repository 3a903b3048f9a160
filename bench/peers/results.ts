/** `results.json` beside this file: a line for each run, of which the latest of its kind counts. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Row = {
  peer: string
  version: string
  through: boolean
  processes: number
  scheme: 'http' | 'https'
  seed: number
  overlaps: number
  short: number
  forbidden: number
  beforeRules: number
  inRetryAfter: number
  /** the least that a delay was longer than owed, ms */
  slackMs: number
  robots: number
  requests: number
  /** of those that robots.txt allows: that were answered */
  pages: number
  allowed: number
  seconds: number
  /** of the rate that the slowest site permits, and of what was asked for in time */
  ofSites: number
  ofAsked?: number
  /** cut: it had not ended in time */
  ended: 'itself' | 'cut'
  /** load average of the machine at the end */
  load: number
}

export type Results = {
  /** machine, versions, date and commit of the last run */
  conditions: string
  when: string
  /** peers that could not be run, and why */
  missing: Record<string, string>
  rows: Row[]
}

const FILE = join(import.meta.dirname, 'results.json')

export function readResults(): Results {
  if (!existsSync(FILE)) return { conditions: '', when: '', missing: {}, rows: [] }
  return JSON.parse(readFileSync(FILE, 'utf8')) as Results
}

const kindOf = ({ peer, through, processes, scheme, seed }: Row): string =>
  [peer, through, processes, scheme, seed].join(' ')

/** @param rows  take the place of older ones of their kind */
export function withRows(before: Row[], rows: Row[]): Row[] {
  const all = new Map([...before, ...rows].map((row) => [kindOf(row), row]))
  return [...all.values()].sort((one, other) => (kindOf(one) < kindOf(other) ? -1 : 1))
}

/** A line a row, so that a change of one shows as such. */
export function writeResults({ rows, ...rest }: Results): void {
  const head = JSON.stringify(rest, undefined, 2).replace(/\n}$/, '')
  writeFileSync(FILE, `${head},\n  "rows": [\n${rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]\n}\n`)
}
