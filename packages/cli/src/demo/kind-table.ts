/** What each kind of site saw, from the audit's lanes, as a table. */
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
    return [
      title.padEnd(36),
      String(count).padStart(5),
      String(robots).padStart(11),
      String(requests - robots).padStart(6),
      (requests === 0 ? '–' : `${owed} ms`).padStart(9),
      (slacks.length === 0 ? '–' : `${Math.min(...slacks).toFixed(1)} ms`).padStart(9),
    ].join('  ')
  })
  const head = [
    'what a site does'.padEnd(36),
    'sites',
    'robots.txt'.padStart(11),
    'pages'.padStart(6),
    'delay'.padStart(9),
    'slack'.padStart(9),
  ]
  return `${[styleText('bold', head.join('  ')), ...rows].join('\n')}\n`
}
