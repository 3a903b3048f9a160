/** The report for people who run a site: which agents, how politely, the worst moments with the lines of the log. */
import { styleText } from 'node:util'
import { violationsIn, worstLanes } from '../judge/lanes-shown.ts'
import { OFFENCES } from '../offences.ts'
import type { LaneReport, LogLine, Report, RulesReport, Violation } from '../report.ts'
import { printable as escaped } from './printable.ts'
import { table } from './table.ts'
import {
  count,
  headline,
  instant,
  labelOf,
  mannersOf,
  notJudged,
  promises,
  short,
  slackOf,
  toleranceSentence,
  verdictSentence,
} from './words.ts'

const AGENTS_SHOWN = 10
const EXAMPLES_SHOWN = 10
const RULES_SHOWN = 3
const RULE_LINES_SHOWN = 40
const PATH_CHARS = 120
const LINE_CHARS = 300

export type TextOptions = {
  /** number of lanes listed (10) */
  lanes?: number
  /** makes untrusted text safe for a terminal */
  printable?: (text: string) => string
}

export function textReport(report: Report, { lanes = 10, printable = escaped }: TextOptions = {}): string {
  const show = (text: string, most: number): string => short(printable(text), most)
  const blocks = [
    headline(report),
    agentTable(report, show),
    table([['promise', 'broken'], ...promises(report).map(({ promise, broken }) => [promise, mark(broken)])]),
    facts(report, printable),
    laneTable(report.lanes, lanes, show),
    moments(report, show),
    examples(report, show),
    rules(report, show),
    unread(report, show),
    toleranceSentence(report),
    conclusion(report),
  ]
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`
}

type Show = (text: string, most: number) => string
const labelled = (agent: string, most: number, show: Show): string => show(labelOf(agent, most), most)

function conclusion(report: Report): string {
  if (report.verdict === 'clean') return styleText('green', `✓ ${verdictSentence(report)}`)
  if (report.verdict === 'violations') return styleText('red', `✗ ${verdictSentence(report)}`)
  return styleText('yellow', `? ${verdictSentence(report)}`)
}

function agentTable({ agents }: Report, show: Show): string {
  const most = agents.toSorted((a, b) => b.violations - a.violations || b.requests - a.requests).slice(0, AGENTS_SHOWN)
  if (most.length === 0) return ''
  return table([
    [
      most.length < agents.length ? `${most.length} of ${agents.length} agents` : 'who visited',
      'manners',
      'requests',
      'origins',
      'robots.txt',
      'slack ms',
      'violations',
    ],
    ...most.map((agent) => [
      labelled(agent.agent, 40, show),
      mannersOf(agent),
      String(agent.requests),
      String(agent.origins),
      String(agent.robots),
      slackOf(agent.smallestSlackMs),
      mark(agent.violations),
    ]),
  ])
}

function facts(report: Report, printable: (text: string) => string): string {
  const { robotsFetches: robots, hops } = report
  const lines = [
    `smallest slack      ${report.smallestSlackMs === undefined ? 'no agent sent two requests to one origin' : `${slackOf(report.smallestSlackMs)} ms (delay kept − delay owed)`}`,
    `robots fetches      ${robots.all}${robots.mostAt === undefined ? '' : `, at most ${robots.most} of one origin (${printable(robots.mostAt)})`}`,
    `answers             ${Object.entries(report.statuses)
      .map(([status, times]) => `${status === '0' ? 'none' : status}: ${times}`)
      .join(' · ')}`,
    ...report.logs.map(
      ({ file, format, requests }) => `log                 ${printable(file)}: ${format}, ${requests}`,
    ),
  ]
  if (hops.requests > 0)
    lines.push(`hops of robots.txt  ${hops.requests}, ${hops.elsewhere} of them at another origin than the one asked`)
  if (report.paceGroups !== undefined) lines.push(`pace groups         ${report.paceGroups} with more than one origin`)
  for (const part of notJudged(report)) lines.push(`not judged          ${printable(part)}`)
  return lines.join('\n')
}

function laneTable(lanes: LaneReport[], most: number, show: Show): string {
  const worst = worstLanes(lanes, most)
  if (worst.length === 0) return ''
  const rows = worst.map((lane) => [
    show(lane.origin, 60),
    labelled(lane.agent, 28, show),
    String(lane.requests),
    String(lane.robots),
    lane.delayMs.least === lane.delayMs.most ? `${lane.delayMs.most}` : `${lane.delayMs.least}–${lane.delayMs.most}`,
    slackOf(lane.smallestSlackMs),
    mark(violationsIn(lane)),
  ])
  const title =
    worst.length < lanes.length ? `tightest ${worst.length} of ${lanes.length} origins and agents` : 'origin'
  return table([[title, 'agent', 'requests', 'robots.txt', 'delay ms', 'slack ms', 'violations'], ...rows])
}

function moments({ worst }: Report, show: Show): string {
  if (worst.length === 0) return ''
  const shown = worst.map((violation, at) => `${at + 1}. ${sentence(violation, show)}${logLines(violation, show)}`)
  return [styleText('bold', `The worst ${worst.length === 1 ? 'moment' : `${worst.length} moments`}`), ...shown].join(
    '\n',
  )
}

function logLines({ line, after }: Violation, show: Show): string {
  const shown = (one: LogLine): string =>
    `\n     ${show(one.file, 80)}:${one.line}${one.text === undefined ? '' : `  ${show(one.text, LINE_CHARS)}`}`
  if (line.line === 0) return ''
  return after === undefined ? shown(line) : shown(after) + shown(line)
}

const sentence = ({ offence, agent, origin, path, at, because }: Violation, show: Show): string =>
  `${instant(at)}  ${offence}  ${show(origin + path, PATH_CHARS)}  (${labelled(agent, 28, show)})\n   ${OFFENCES[offence].means}: ${show(because, 200)}`

/** The first violations that are not among the worst ones. */
function examples({ examples, total, worst }: Report, show: Show): string {
  const printed = new Set(worst.map(idOf))
  const shown = examples.filter((one) => !printed.has(idOf(one))).slice(0, EXAMPLES_SHOWN)
  const others = total - worst.length
  if (shown.length === 0) return ''
  const title = shown.length < others ? `The first ${shown.length} of ${others} others` : 'The others'
  return [styleText('bold', title), ...shown.map((violation) => sentence(violation, show))].join('\n')
}

const idOf = ({ offence, agent, origin, path, at, line: { file, line } }: Violation): string =>
  JSON.stringify([offence, agent, origin, path, at, file, line])

/** The rules that were broken or, if none were, the first ones. */
function rules({ rules: all }: Report, show: Show): string {
  const broken = all.filter((one) => one.broken.length > 0)
  const chosen = (broken.length > 0 ? broken : all).slice(0, RULES_SHOWN)
  if (chosen.length === 0) return ''
  const title = `The rules of robots.txt that were applied${chosen.length < all.length ? ` (${chosen.length} of ${all.length} files)` : ''}`
  return [styleText('bold', title), ...chosen.map((one) => rulesOf(one, show))].join('\n')
}

function rulesOf({ origin, at, lines, linesLeftOut, broken }: RulesReport, show: Show): string {
  const times = new Map(broken.map((one) => [one.line, one.times]))
  const numbered = lines.map((line, index) => ({ number: index + 1, line, broken: times.get(index + 1) }))
  // A long file is shown up to RULE_LINES_SHOWN lines, and beyond them only its broken lines.
  const chosen = numbered.filter(({ broken: is }, index) => index < RULE_LINES_SHOWN || is !== undefined)
  const left = numbered.length - chosen.length + linesLeftOut
  return [
    `${show(origin, 80)}/robots.txt, as answered ${instant(at)}`,
    ...chosen.map(({ number, line, broken: is }) => {
      const text = `${String(number).padStart(5)}  ${show(line, 110)}`
      return is === undefined ? text : styleText('red', `${text}  ← ${count(is, 'request')} against it`)
    }),
    ...(left > 0 ? [`       … and ${count(left, 'line')} more`] : []),
  ].join('\n')
}

function unread({ setAside }: Report, show: Show): string {
  if (setAside.examples.length === 0) return ''
  const title = `Lines that were set aside${setAside.lines > setAside.examples.length ? ` (the first ${setAside.examples.length} of ${setAside.lines})` : ''}`
  const shown = setAside.examples.map(
    ({ file, line, why, text }) =>
      `  ${show(file, 80)}:${line}: ${show(why, 160)}${text === '' ? '' : `\n     ${show(text, 160)}`}`,
  )
  return [styleText('bold', title), ...shown].join('\n')
}

const mark = (times: number): string => (times === 0 ? '0' : styleText('red', String(times)))
