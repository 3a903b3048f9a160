/** A report for people. */
import { stripVTControlCharacters as bare, styleText } from 'node:util'
import { type LaneReport, OFFENCES, type Offence, type Report } from './report.ts'

/** What is promised, in the order in which a site would ask. */
const PROMISES: Record<Offence, string> = {
  overlap: 'one request at a time in a lane',
  'short-silence': 'never less silence than owed',
  forbidden: 'nothing that the rules forbid',
  'before-rules': 'nothing before robots.txt was answered',
  'rules-unreachable': 'nothing while robots.txt is unreachable',
  'in-back-off': 'nothing before a Retry-After is over',
  'rules-too-old': 'no rules older than a day',
  'robots-overlap': 'one robots.txt fetch at a time per site',
  'robots-too-often': 'robots.txt not asked for too often',
  'pace-group': 'no request while a shared clock is shut',
}

/** @param lanes  how many of the lanes with the least slack are listed */
export function printReport(report: Report, lanes = 10): string {
  const { requests, origins, visitors, spanMs, tolerance } = report
  const blocks = [
    `${count(requests, 'request')} · ${count(origins, 'origin')} · ${count(report.lanes.length, 'lane')} · ${count(visitors.length, 'visitor')} · ${(spanMs / 1_000).toFixed(1)} s, as the sites recorded them`,
    table([
      ['promise', 'broken'],
      ...Object.entries(PROMISES)
        .filter(([offence]) => offence !== 'pace-group' || report.paceGroups !== undefined)
        .map(([offence, text]) => [text, mark(report.violations[offence as Offence])]),
    ]),
    facts(report),
    laneTable(report.lanes, lanes),
    examples(report),
    `Silence is counted from the end of one exchange to the start of the next; tolerance ${tolerance.silenceMs} ms (after an exchange that the visitor cut, what the record says, else ${tolerance.afterCutMs} ms; ${tolerance.ruleChangeMs} ms for a change of rules or back-off to reach other lanes).`,
    report.total === 0
      ? styleText('green', '✓ no violation')
      : styleText('red', `✗ ${count(report.total, 'violation')}`),
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

function facts(report: Report): string {
  const { robotsFetches: robots, guests } = report
  const lines = [
    `smallest slack      ${report.smallestSlackMs === undefined ? 'no lane with two requests' : `${report.smallestSlackMs.toFixed(1)} ms (silence kept − silence owed)`}`,
    `robots.txt fetches  ${robots.all}${robots.mostAt === undefined ? '' : `, at most ${robots.most} from one visitor party at one origin (${robots.mostAt})`}`,
    `answers             ${Object.entries(report.statuses)
      .map(([status, times]) => `${status === '0' ? 'none' : status}: ${times}`)
      .join(' · ')}`,
  ]
  if (guests.requests > 0)
    lines.push(
      `guests              ${count(guests.requests, 'hop')} of redirected robots.txt fetches at other origins, ${guests.atBadTime} close to a request there`,
    )
  if (report.paceGroups !== undefined) lines.push(`pace groups         ${report.paceGroups} with more than one origin`)
  if (report.unjudged > 0)
    lines.push(`not judged          ${count(report.unjudged, 'page')}: the record does not hold the rules`)
  if (report.leftOut > 0)
    lines.push(`left out            ${count(report.leftOut, 'line')} of other visitors or without a request`)
  return lines.join('\n')
}

function laneTable(lanes: LaneReport[], most: number): string {
  const slack = (lane: LaneReport): number => lane.smallestSlackMs ?? Number.POSITIVE_INFINITY
  const worst = lanes.toSorted((a, b) => offences(b) - offences(a) || slack(a) - slack(b)).slice(0, most)
  if (worst.length === 0) return ''
  const rows = worst.map((lane) => [
    lane.origin,
    short(lane.visitor),
    String(lane.requests),
    String(lane.robots),
    lane.owedMs.least === lane.owedMs.most ? `${lane.owedMs.most}` : `${lane.owedMs.least}–${lane.owedMs.most}`,
    lane.smallestSlackMs?.toFixed(1) ?? '–',
    mark(offences(lane)),
  ])
  return table([
    [
      worst.length < lanes.length ? `tightest ${worst.length} lanes` : 'lanes',
      'visitor',
      'requests',
      'robots',
      'owed ms',
      'slack ms',
      'broken',
    ],
    ...rows,
  ])
}

function examples({ examples, total }: Report): string {
  if (total === 0) return ''
  const shown = examples.slice(0, 20).map(({ offence, visitor, origin, path, at, because }) => {
    return `${new Date(at).toISOString()}  ${offence}  ${origin}${path.slice(0, 120)}  (${short(visitor)})\n    ${OFFENCES[offence]}: ${because}`
  })
  return [`The first ${shown.length} of ${total}:`, ...shown].join('\n')
}

const offences = (lane: LaneReport): number => Object.values(lane.offences).reduce((sum, times) => sum + times, 0)
const mark = (times: number): string => (times === 0 ? '0' : styleText('red', String(times)))
const count = (n: number, what: string): string => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`
const short = (visitor: string): string => (visitor.length > 28 ? `${visitor.slice(0, 27)}…` : visitor)

/** Columns as wide as they need; the first to the left, numbers to the right. Colours take no room. */
function table(rows: string[][]): string {
  const isNumber = (column: number): boolean =>
    rows.slice(1).every((row) => /^[-–\d.,]+$/.test(bare(row[column] ?? '')))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => bare(row[column] ?? '').length)))
  const right = widths.map((_, column) => isNumber(column))
  return rows
    .map((row, index) => {
      const cells = row.map((cell, column) => {
        const room = ' '.repeat((widths[column] ?? 0) - bare(cell).length)
        return right[column] ? room + cell : cell + room
      })
      const text = cells.join('  ').trimEnd()
      return index === 0 ? styleText('bold', text) : text
    })
    .join('\n')
}
