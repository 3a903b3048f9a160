/** A table of the requests that each kind of site received, and of its delays, from the audit's lanes. */
import { styleText } from 'node:util'
import type { Report } from '@decorum/audit'
import { KINDS, kindOf } from './sites.ts'

export function kindTable(report: Report, origins: Record<string, string>): string {
  const kind = kindOf(origins)
  const rows = KINDS.map(({ name, title, count }) => {
    const lanes = report.lanes.filter((lane) => kind(lane.origin)?.name === name)
    const robots = lanes.reduce((sum, lane) => sum + lane.robots, 0)
    const requests = lanes.reduce((sum, lane) => sum + lane.requests, 0)
    const slacks = lanes.flatMap(({ smallestSlackMs }) => (smallestSlackMs === undefined ? [] : [smallestSlackMs]))
    const owed = lanes.length === 0 ? 0 : Math.max(...lanes.map((lane) => lane.delayMs.most))
    return line([
      title,
      String(count),
      String(robots),
      String(requests - robots),
      requests === 0 ? '–' : `${owed} ms`,
      slacks.length === 0 ? '–' : `${Math.min(...slacks).toFixed(1)} ms`,
    ])
  })
  const head = line(['what a site does', 'sites', 'robots.txt', 'pages', 'delay', 'slack'])
  return `${[styleText('bold', head), ...rows].join('\n')}\n`
}

const WIDTHS = [36, 5, 11, 6, 9, 9]
/** The first column is text, the others are numbers. */
const line = (cells: string[]): string =>
  cells.map((cell, n) => (n === 0 ? cell.padEnd(WIDTHS[n] ?? 0) : cell.padStart(WIDTHS[n] ?? 0))).join('  ')
