/** The page at `/`: one glance says "polite, not stalled". Pure: a look in, markup out; no inline style or script. */

import type { Crawl, Member, Reader } from '@decorum/ledger'
import type { PartitionView } from '@decorum/ledger-views'
import { OUTCOME_KINDS } from '@decorum/protocol'
import type { Look, SoonLane } from '../watch/looks.ts'
import type { Pace } from '../watch/pace.ts'
import { opensIn, robotsWord, whyItWaits } from '../why.ts'
import { clock, count, length, some } from '../words.ts'
import { headline, type Totals, totalsOf } from './headline.ts'
import { type Html, html, type Piece } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { readersTable } from './readers-page.ts'
import { table } from './table.ts'

export type PageFacts = { look: Look; pace: Pace; outcomesLimit: number; frame: Frame }

/** The whole document. The script replaces `<main>` by `/overview` every two seconds; without it the page reloads itself. */
export function overviewPage(facts: PageFacts): string {
  const body = html`<main data-follow="/overview">${overviewMain(facts)}</main>`
  return layout({ title: 'Decorum', body, frame: facts.frame, place: '/', reload: true })
}

/** What changes from look to look. */
export function overviewMain({ look, pace, outcomesLimit }: Omit<PageFacts, 'frame'>): Html {
  const partitions = look.kind === 'seen' ? look.partitions : []
  const totals = totalsOf(partitions, OUTCOME_KINDS, look.kind === 'seen' ? look.intake : undefined)
  const perMinute = pace.perMinute()
  const head = headline(look, totals, outcomesLimit)
  const top = html`<section class="headline ${head.tone}" role="status"><h1>${head.title}</h1><time>${clock(look.at)}</time><p>${head.sentence}</p></section>`
  if (look.kind === 'blind') return top
  return html`${top}
${tiles(totals, perMinute, pace.series())}
${lanesTable(look.lanes, partitions, totals)}
<div class="pair">${outcomes(partitions)}${processes(look.members)}</div>
${crawlsTable(look.crawls)}${readers([...look.readers, ...look.otherReaders])}
${partitionsTable(partitions)}`
}

function tiles(totals: Totals, perMinute: number | undefined, series: number[]): Html {
  const next = totals.lagMs > 0 ? 'now' : totals.opensInMs === undefined ? '–' : `in ${length(totals.opensInMs)}`
  const late = totals.lagMs >= 100 ? `oldest ${length(totals.lagMs)} late` : 'none is late'
  return html`<section class="tiles">
${tile('Outcomes a minute', perMinute === undefined ? '…' : count(perMinute), sparkline(series))}
${tile('In flight', count(totals.inFlight), 'requests and orders out')}
${tile('URLs in lanes', count(totals.waiting), `in ${some(totals.lanes, 'lane')}`)}
${tile('Candidates', `${totals.candidatesAreEstimated ? '≈ ' : ''}${count(totals.candidates)}`, candidatesNote(totals))}
${tile('Due lanes', count(totals.due), late)}
${tile('Next lane due', next, 'when its delay is over')}
${tile('Unread outcomes', count(totals.unread), 'for the frontier to read')}
</section>`
}

function candidatesNote({ candidates, candidatesForMs }: Totals): string {
  if (candidates === 0) return 'none waits for a gateway'
  return candidatesForMs === undefined
    ? 'wait for a gateway'
    : `wait for a gateway, the oldest ${length(candidatesForMs)}`
}

const tile = (label: string, value: string, note: Piece): Html =>
  html`<div class="tile"><h2>${label}</h2><b>${value}</b><small>${note}</small></div>`

function sparkline(series: number[]): Html {
  const top = Math.max(1, ...series)
  const step = 120 / Math.max(1, series.length - 1)
  const points = series.map((n, i) => `${(i * step).toFixed(1)},${(22 - (n / top) * 20).toFixed(1)}`).join(' ')
  return html`<svg class="spark" viewBox="0 0 120 24" preserveAspectRatio="none" role="img" aria-label="outcomes per second, last three minutes"><polyline points="${points}"/></svg>`
}

function lanesTable(lanes: SoonLane[], partitions: PartitionView[], totals: Totals): Html {
  if (lanes.length === 0)
    return html`<section><h2>Lanes</h2><p class="none">No lane has URLs or a running delay.</p></section>`
  const rows = lanes.flatMap(({ partition, lane, origin }) => {
    const part = partitions[partition]
    if (part === undefined) return []
    const why = whyItWaits(lane, origin, part)
    // the clock of a pace group is no site
    const name = /^https?:/.test(lane.origin)
      ? html`<a href="/origins/${encodeURIComponent(lane.origin)}">${lane.origin}</a>`
      : html`${lane.origin}`
    return [
      [
        html`${name}<small>${lane.head?.path.slice(0, 120) ?? ''}</small>`,
        lane.agent,
        html`<span class="chip ${why.state.replace(' ', '-')}">${why.state}</span>`,
        why.sentence,
        robotsWord(origin.state),
        opensIn(lane, why, part.now),
        count(lane.waiting),
      ],
    ]
  })
  const more = totals.lanes > rows.length ? ` · ${count(totals.lanes - rows.length)} more are due later` : ''
  return html`<section><h2>The soonest lanes, and why each waits<small>${count(rows.length)} of ${count(totals.lanes)}${more}</small></h2>
${table('Lanes', LANE_COLUMNS, rows)}</section>`
}

function outcomes(partitions: PartitionView[]): Html {
  const sums = OUTCOME_KINDS.map((kind) => ({
    kind,
    n: partitions.reduce((n, part) => n + (part.counts[kind] ?? 0), 0),
  }))
  const all = sums.reduce((n, one) => n + one.n, 0)
  let x = 0
  const bars = sums.map(({ kind, n }) => {
    const width = all === 0 ? 0 : (n / all) * 100
    const bar = html`<rect class="${kind}" x="${x.toFixed(3)}" y="0" width="${width.toFixed(3)}" height="6"><title>${kind}: ${count(n)}</title></rect>`
    x += width
    return bar
  })
  return html`<section><h2>Outcomes<small>${count(all)} since the beginning</small></h2>
<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="outcomes by kind">${bars}</svg>
<ul class="legend">${sums.map(({ kind, n }) => html`<li class="${kind}"><i></i>${kind} <b>${count(n)}</b></li>`)}</ul></section>`
}

function processes(list: Member[]): Html {
  if (list.length === 0)
    return html`<section><h2>Processes</h2><p class="none">None has announced itself.</p></section>`
  return html`<section><h2>Processes<small>${count(list.length)} heard of in the last 5 s</small></h2>
${table(
  'Processes',
  [['Role', 'name'], 'Process', ['Slots', 'number']],
  list.map((one) => [
    one.role,
    html`<code>${one.about === undefined ? one.id : `${one.about.pid} on ${one.about.host}`}</code>`,
    one.slots > 0 ? count(one.slots) : '–',
  ]),
)}</section>`
}

/** Rows shown; the page of readers has more. */
const READERS_SHOWN = 20
const CRAWLS_SHOWN = 20

/** Nothing where there is only the default crawl. */
function crawlsTable(crawls: Crawl[]): Html | string {
  if (crawls.length < 2) return ''
  const shown = [...crawls].sort((a, b) => b.waiting + b.unread - a.waiting - a.unread).slice(0, CRAWLS_SHOWN)
  const rows = shown.map(({ name, record, waiting, unread, counts }) => {
    const ended = Object.values(counts).reduce((sum, n) => sum + n, 0)
    const chip = record.state === 'running' ? 'due' : record.state === 'paused' ? 'late' : 'idle'
    return [
      html`${name}<small>${record.reason}</small>`,
      html`<span class="chip ${chip}">${record.state}</span>`,
      ...[record.weight, waiting, ended, unread].map(count),
    ]
  })
  const note = `${some(crawls.length, 'crawl')}${crawls.length > shown.length ? ', those with most to do' : ''}`
  return html`<section><h2>Crawls<small>${note}</small></h2>${table('Crawls', CRAWL_COLUMNS, rows)}</section>`
}
const CRAWL_COLUMNS = [
  ['Crawl', 'name'],
  'State',
  ['Weight', 'number'],
  ['URLs waiting', 'number'],
  ['Outcomes', 'number'],
  ['Stored outcomes', 'number'],
] as const

function readers(all: Reader[]): Html {
  const shown = all.slice(0, READERS_SHOWN)
  const note = `${some(shown.length, 'group')}${all.length > shown.length ? ' with most to read' : ''}`
  return html`<section><h2>Readers of outcomes<small>${note}</small></h2>${readersTable(shown)}</section>`
}

const LANE_COLUMNS = [
  ['Origin', 'name'],
  'Agent',
  'State',
  ['Why', 'long'],
  'robots.txt',
  ['Opens in', 'number'],
  ['URLs', 'number'],
] as const
const PARTITION_COLUMNS = [
  ['Tag', 'name'],
  ['URLs in lanes', 'number'],
  ['Lanes', 'number'],
  ['Open', 'number'],
  ['In flight', 'number'],
  ['Unread', 'number'],
  ['Lag', 'number'],
  'Grants',
] as const

function partitionsTable(partitions: PartitionView[]): Html {
  const rows = partitions.map((part) => {
    const lag = part.nextDue === undefined ? 0 : Math.max(0, part.now - part.nextDue)
    const held =
      part.holdUntil !== undefined && part.holdUntil > part.now
        ? `held for ${length(part.holdUntil - part.now)}`
        : 'given'
    const numbers = [part.waiting, part.lanes, part.due, part.inFlight, part.unread].map(count)
    return [html`<code>${part.tag}</code>`, ...numbers, length(lag), held]
  })
  return html`<section><h2>Partitions</h2>${table('Partitions', PARTITION_COLUMNS, rows)}</section>`
}
