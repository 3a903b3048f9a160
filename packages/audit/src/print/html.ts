/** The report as one self-contained page: no script, nothing loaded, light and dark. */
import { worstLanes } from '../judge/lanes-shown.ts'
import { OFFENCES } from '../offences.ts'
import type { LogLine, Report, RulesReport, Violation } from '../report.ts'
import { escaped } from './printable.ts'
import { STYLE } from './style.ts'
import { drawLane, legend } from './timeline.ts'
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

const AGENTS_SHOWN = 50
const LANES_SHOWN = 50
const RULE_FILES_SHOWN = 10

const cell = (text: string, most: number): string => `<td title="${escaped(text)}">${escaped(short(text, most))}</td>`
const number = (value: string | number): string => `<td class="n">${escaped(String(value))}</td>`

export function htmlReport(report: Report): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>Politeness audit: ${escaped(verdictSentence(report))}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Politeness audit</h1>
<p class="verdict ${report.verdict}">${escaped(verdictSentence(report))}</p>
<p>${escaped(headline(report))}</p>
${list(notJudged(report), 'Not judged')}
${agents(report)}
${promiseTable(report)}
${moments(report)}
${timelines(report)}
${laneTable(report)}
${rulesSection(report)}
${setAside(report)}
<footer><p>${escaped(toleranceSentence(report))}</p></footer>
</main>
</body>
</html>
`
}

const section = (title: string, body: string): string =>
  body === '' ? '' : `<section>\n<h2>${title}</h2>\n${body}\n</section>`

const table = (head: string[], rows: string[]): string =>
  `<div class="wide"><table>\n<thead><tr>${head.map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead>\n<tbody>\n${rows.map((row) => `<tr>${row}</tr>`).join('\n')}\n</tbody>\n</table></div>`

const list = (items: string[], title: string): string =>
  items.length === 0
    ? ''
    : `<details open><summary>${title}</summary><ul>${items.map((item) => `<li>${escaped(item)}</li>`).join('')}</ul></details>`

const violations = (times: number): string => (times === 0 ? number(0) : `<td class="n bad">${times}</td>`)

function agents({ agents: all }: Report): string {
  const shown = all.toSorted((a, b) => b.violations - a.violations || b.requests - a.requests).slice(0, AGENTS_SHOWN)
  const rows = shown.map(
    (agent) =>
      cell(agent.agent, 90) +
      `<td>${mannersOf(agent)}</td>` +
      number(agent.requests) +
      number(agent.origins) +
      number(agent.robots) +
      number(slackOf(agent.smallestSlackMs)) +
      violations(agent.violations),
  )
  const title =
    shown.length < all.length ? `Who visited (${shown.length} of ${all.length})` : 'Who visited, how politely'
  return section(
    title,
    table(['agent', 'manners', 'requests', 'origins', 'robots.txt', 'slack ms', 'violations'], rows),
  )
}

function promiseTable(report: Report): string {
  const rows = promises(report).map(
    ({ promise, broken, offence }) =>
      `<td>${promise}</td><td><code>${offence}</code></td>${broken === 0 ? number(0) : `<td class="n bad">${broken}</td>`}`,
  )
  return section('What was promised', table(['promise', 'offence', 'broken'], rows))
}

function moments({ worst, total }: Report): string {
  const items = worst.map((one) => `<li>${moment(one)}</li>`).join('\n')
  const title = worst.length < total ? `The worst ${worst.length} of ${total} moments` : 'The worst moments'
  return section(title, items === '' ? '' : `<ol class="moments">\n${items}\n</ol>`)
}

function moment({ offence, agent, origin, path, at, because, line, after }: Violation): string {
  const lines = (after === undefined ? [line] : [after, line]).filter((one) => one.line > 0)
  return `<p><strong>${offence}</strong> <time>${instant(at)}</time> <code>${escaped(short(origin + path, 160))}</code></p>
<p>${OFFENCES[offence].means}: ${escaped(because)}. <span class="agent">${escaped(short(agent, 120))}</span></p>
${lines.length === 0 ? '' : `<pre>${lines.map(logLine).join('\n')}</pre>`}`
}

const logLine = ({ file, line, text }: LogLine): string =>
  `<span class="at">${escaped(file)}:${line}</span>${text === undefined ? '' : `  ${escaped(short(text, 600))}`}`

function timelines({ timelines: all = [] }: Report): string {
  if (all.length === 0) return ''
  return section(
    'Requests over time, by origin and agent',
    `${legend()}\n${all.map((one) => drawLane(one)).join('\n')}`,
  )
}

function laneTable({ lanes }: Report): string {
  const shown = worstLanes(lanes, LANES_SHOWN)
  const rows = shown.map(({ origin, agent, requests, robots, delayMs: { least, most }, smallestSlackMs, offences }) => {
    const named = Object.entries(offences).map(([name, times]) => `${name} ${times}`)
    const delay = least === most ? `${most}` : `${least}–${most}`
    return (
      cell(origin, 50) +
      `<td title="${escaped(agent)}">${escaped(labelOf(agent, 40))}</td>` +
      number(requests) +
      number(robots) +
      number(delay) +
      number(slackOf(smallestSlackMs)) +
      `<td${named.length > 0 ? ' class="bad"' : ''}>${named.join(', ') || '–'}</td>`
    )
  })
  const title =
    shown.length < lanes.length
      ? `By origin and agent: the tightest ${shown.length} of ${lanes.length}`
      : 'By origin and agent'
  return section(
    title,
    table(['origin', 'agent', 'requests', 'robots.txt', 'delay ms', 'slack ms', 'violations'], rows),
  )
}

function rulesSection({ rules }: Report): string {
  const shown = rules.slice(0, RULE_FILES_SHOWN)
  return section('The rules it judged by', shown.map(rulesOf).join('\n'))
}

function rulesOf({ origin, at, lines, linesLeftOut, broken }: RulesReport): string {
  const times = new Map(broken.map((one) => [one.line, one.times]))
  const rows = lines.map((line, index) => {
    const against = times.get(index + 1)
    const text = `<span class="at">${index + 1}</span> ${escaped(line)}`
    return against === undefined ? text : `<mark>${text}</mark> ← ${count(against, 'request')} against it`
  })
  if (linesLeftOut > 0) rows.push(`… and ${count(linesLeftOut, 'line')} more`)
  return `<details${broken.length > 0 ? ' open' : ''}><summary><code>${escaped(origin)}/robots.txt</code>, as answered ${instant(at)}</summary><pre>${rows.join('\n')}</pre></details>`
}

function setAside({ setAside: { examples } }: Report): string {
  const items = examples.map(
    ({ file, line, why, text }) =>
      `<li><span class="at">${escaped(file)}:${line}</span> ${escaped(why)}${text === '' ? '' : `<pre>${escaped(text)}</pre>`}</li>`,
  )
  return section('Lines that were set aside', items.length === 0 ? '' : `<ul>${items.join('\n')}</ul>`)
}
