/** The page at `/`: one glance says "polite, not stalled". Pure: a view in, markup out; no inline style or script. */

import type { Crawl, Member, Reader } from '@decorum/ledger'
import type { PartitionView } from '@decorum/ledger/views'
import { OUTCOME_KINDS } from '@decorum/protocol'
import type { Look, SoonLane } from '../watch/looks.ts'
import type { Pace } from '../watch/pace.ts'
import { dueIn, robotsWord, whyItWaits } from '../why.ts'
import { clock, count, length, some } from '../words.ts'
import { crawlsTable } from './crawls-page.ts'
import { headline, nextLaneOf, type Totals, totalsOf } from './headline.ts'
import { type Html, html, type Piece } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { outcomesByKind } from './outcomes-by-kind.ts'
import { readersTable } from './readers-page.ts'
import { table } from './table.ts'

export type PageFacts = { look: Look; pace: Pace; outcomesLimit: number; frame: Frame }

/** The whole document. The script replaces `<main>` by `/overview` every two seconds; without it the page reloads itself. */
export function overviewPage(facts: PageFacts): string {
  const body = html`<main data-follow="/overview">${overviewMain(facts)}</main>`
  return layout({ title: 'Decorum', body, frame: facts.frame, place: '/', reload: true })
}

/** The part that changes between updates. */
export function overviewMain({ look, pace, outcomesLimit }: Omit<PageFacts, 'frame'>): Html {
  const partitions = look.kind === 'seen' ? look.partitions : []
  const totals = totalsOf(partitions, OUTCOME_KINDS, look.kind === 'seen' ? look.intake : undefined)
  const perMinute = pace.perMinute()
  const head = headline(look, totals, outcomesLimit)
  const top = html`<section class="headline ${head.tone}" role="status"><h1>${head.title}</h1><time>${clock(look.at)}</time><p>${head.sentence}</p></section>`
  if (look.kind === 'blind') return top
  return html`${top}
${tiles(totals, perMinute, pace.series(), nextLaneOf(look))}
${lanesTable(look.lanes, partitions, totals)}
<div class="pair">${outcomes(partitions)}${processes(look.members)}</div>
${crawls(look.crawls, pace)}${readers([...look.readers, ...look.otherReaders])}
${partitionsTable(partitions)}`
}

function tiles(
  totals: Totals,
  perMinute: number | undefined,
  series: number[],
  nextLane: ReturnType<typeof nextLaneOf>,
): Html {
  const late = totals.lagMs >= 100 ? `oldest ${length(totals.lagMs)} late` : 'none is late'
  return html`<section class="tiles">
${tile('Outcomes a minute', perMinute === undefined ? '…' : count(perMinute), sparkline(series))}
${tile('In flight', count(totals.inFlight), 'requests and orders out')}
${tile('URLs in lanes', count(totals.waiting), `in ${some(totals.lanes, 'lane')}`)}
${tile('Candidates', `${totals.candidatesAreEstimated ? '≈ ' : ''}${count(totals.candidates)}`, candidatesNote(totals))}
${tile('Due lanes', count(totals.due), late)}
${tile('Next lane due', nextLane?.due ?? '–', nextLane?.what ?? 'no lane waits')}
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
  const rows = lanes.map(({ partition, lane, origin }) => {
    const part = partitions[partition] ?? { now: lane.due ?? 0 }
    const why = whyItWaits(lane, origin, part)
    // a lane of a pace group is no site
    const name = /^https?:/.test(lane.origin)
      ? html`<a href="/origins/${encodeURIComponent(lane.origin)}">${lane.origin}</a>`
      : html`${lane.origin}`
    return [
      html`${name}<small>${lane.head?.path.slice(0, 120) ?? ''}</small>`,
      lane.agent,
      html`<span class="chip ${why.state.replace(' ', '-')}">${why.state}</span>`,
      why.sentence,
      robotsWord(origin.state),
      dueIn(lane, why, part.now),
      count(lane.waiting),
    ]
  })
  const names = lanes.map(({ lane }) => `${lane.agent} ${lane.origin}`)
  const more = totals.lanes > rows.length ? ` · ${count(totals.lanes - rows.length)} more are due later` : ''
  return html`<section><h2>The soonest lanes, and why each waits<small>${count(rows.length)} of ${count(totals.lanes)}${more}</small></h2>
${table('Lanes', LANE_COLUMNS, rows, names)}</section>`
}

function outcomes(partitions: PartitionView[]): Html {
  const counts = Object.fromEntries(
    OUTCOME_KINDS.map((kind) => [kind, partitions.reduce((n, part) => n + (part.counts[kind] ?? 0), 0)]),
  )
  return outcomesByKind(counts)
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

/** Rows shown; the readers page has more. */
const READERS_SHOWN = 20
const CRAWLS_SHOWN = 20

/** Shows nothing if there is only the default crawl. */
function crawls(all: Crawl[], pace: Pace): Html | undefined {
  if (all.length < 2) return undefined
  const shown = [...all].sort((a, b) => b.waiting + b.unread - a.waiting - a.unread).slice(0, CRAWLS_SHOWN)
  const note = `${some(all.length, 'crawl')}${all.length > shown.length ? ', those with most to do' : ''}`
  return html`<section><h2>Crawls<small>${note}</small></h2>${crawlsTable(shown, pace)}</section>`
}

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
  ['Due in', 'number'],
  ['URLs', 'number'],
] as const
const PARTITION_COLUMNS = [
  ['Tag', 'name'],
  ['URLs in lanes', 'number'],
  ['Lanes', 'number'],
  ['Due', 'number'],
  ['In flight', 'number'],
  ['Unread', 'number'],
  ['Lag', 'number'],
  'Leases',
] as const

function partitionsTable(partitions: PartitionView[]): Html {
  const rows = partitions.map((part) => {
    const lag = part.nextDue === undefined ? 0 : Math.max(0, part.now - part.nextDue)
    const held =
      part.holdUntil !== undefined && part.holdUntil > part.now
        ? `held for ${length(part.holdUntil - part.now)}`
        : 'granted'
    const numbers = [part.waiting, part.lanes, part.due, part.inFlight, part.unread].map(count)
    return [html`<code>${part.tag}</code>`, ...numbers, length(lag), held]
  })
  return html`<section><h2>Partitions</h2>${table('Partitions', PARTITION_COLUMNS, rows)}</section>`
}
