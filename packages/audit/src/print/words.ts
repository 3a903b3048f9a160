/** Sentences and figures that the text and the HTML report share. */

import { namesCrawler, tokenOf } from '../agents.ts'
import { OFFENCE_NAMES, OFFENCES, type Offence } from '../offences.ts'
import type { AgentReport, Report } from '../report.ts'

export const count = (n: number, what: string): string => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`
export const instant = (at: number): string => `${new Date(at).toISOString().replace('T', ' ').slice(0, 23)} UTC`
export const short = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text)

/** A short label of an agent: its product token, unless that is a browser's. */
export function labelOf(agent: string, most: number): string {
  const token = tokenOf(agent)
  return namesCrawler(token) && agent.length > most ? short(token, most) : short(agent, most)
}

/** A slack with one decimal; '< 0' if it is negative, which is a violation, but rounds to zero. */
export function slackOf(ms: number | undefined): string {
  if (ms === undefined) return '–'
  const shown = ms.toFixed(1)
  return shown === '-0.0' ? '< 0' : shown
}

export const headline = (report: Report): string =>
  [
    count(report.requests, 'request'),
    count(report.agents.length, 'agent'),
    count(report.origins, 'origin'),
    `${instant(report.from)} to ${instant(report.to)}`,
  ].join(' · ')

/** The politeness of an agent in one word for a column. */
export function mannersOf({ requests, violations }: AgentReport): string {
  if (violations === 0) return 'polite'
  const share = violations / requests
  return share < 0.01 ? 'mostly polite' : share < 0.1 ? 'sometimes rude' : 'rude'
}

export const promises = (report: Report): { promise: string; broken: number; offence: Offence }[] =>
  OFFENCE_NAMES.filter(
    (offence) =>
      (offence !== 'pace-group' || report.paceGroups !== undefined) &&
      (offence !== 'stopped' || report.stops !== undefined) &&
      ((offence !== 'outside-hours' && offence !== 'over-budget') || report.sitePolicies !== undefined),
  ).map((offence) => ({
    offence,
    promise: OFFENCES[offence].promise,
    broken: report.violations[offence],
  }))

const REASONS: Record<string, string> = {
  unreadable: 'of no known format',
  'no-times': 'without usable times',
  'no-origin': 'that name no origin',
  'bad-request': 'with a value that cannot be',
  'too-long': 'too long to be a request',
  cut: 'not finished by its writer',
}

/** The parts that were not judged, and why; empty: all were judged. */
export function notJudged(report: Report): string[] {
  const { unjudgedBecause, setAside, noRequest, leftOut, logs } = report
  const found: string[] = []
  if (unjudgedBecause.noRules > 0)
    found.push(
      `${count(unjudgedBecause.noRules, 'page')} not judged by rules: the record does not hold them (--robots)`,
    )
  if (unjudgedBecause.clock > 0)
    found.push(`${count(unjudgedBecause.clock, 'finding')} dropped: the log's clock was set back there`)
  for (const [reason, lines] of Object.entries(setAside.byReason))
    found.push(`${count(lines, 'line')} set aside: ${REASONS[reason] ?? reason}`)
  if (noRequest > 0) found.push(`${count(noRequest, 'line')} without an HTTP request`)
  if (leftOut > 0) found.push(`${count(leftOut, 'request')} of other agents left out`)
  for (const { file, notes } of logs) for (const note of notes) found.push(`${file}: ${note}`)
  return found
}

export const toleranceSentence = ({ tolerance }: Report): string =>
  `A delay is counted from the end of one exchange to the start of the next; tolerance ${tolerance.delayMs} ms (after an exchange that the agent cut, what the record says, else ${tolerance.afterCutMs} ms; ${tolerance.ruleChangeMs} ms for new rules or a Retry-After to reach the crawler's other agents).`

export function verdictSentence(report: Report): string {
  if (report.verdict === 'violations') return `${count(report.total, 'violation')}`
  if (report.verdict === 'clean') return 'no violation'
  const judged = report.requests - report.unjudged
  return judged <= 0 || report.unjudgedBecause.noRules >= pagesIn(report)
    ? 'no violation found, but no page could be judged by its rules'
    : 'no violation found, but part of the log could not be judged'
}

const pagesIn = ({ requests, lanes }: Report): number => {
  let robots = 0
  for (const lane of lanes) robots += lane.robots
  return requests - robots
}
