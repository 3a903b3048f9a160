/** The page at `/`: one glance says "polite, not stalled". Pure: a view in, markup out; no inline style or script. */
import type { PartitionView } from '@decorum/ledger/views'
import type { FleetView } from '../watch/fleet-view.ts'
import type { Pace } from '../watch/pace.ts'
import { dueIn, robotsWord, whyItWaits } from '../why.ts'
import { clock, count, length, some } from '../words.ts'
import { crawlsTable } from './crawls-page.ts'
import { rolesSentence } from './fleet-page.ts'
import { headline, nextLaneOf, type Totals, totalsOf } from './headline.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { outcomesByKind } from './outcomes-by-kind.ts'
import { banner, originLink, section, stateChip, tile } from './parts.ts'
import { readersTable } from './readers-page.ts'
import { table } from './table.ts'

/** Rows shown of lanes, readers and crawls, which have pages of their own. */
const SHOWN = 5

export function overviewPage(view: FleetView, pace: Pace, outcomesLimit: number): Page {
  const { tone, title, sentence } = headline(view, outcomesLimit)
  const body = html`${banner(tone, title, sentence, html`<time>${clock(view.at)}</time>`)}${view.kind === 'seen' && seen(view, pace)}`
  return { title: 'Overview', body, place: '/', follow: '/' }
}

type Seen = Extract<FleetView, { kind: 'seen' }>

function seen(view: Seen, pace: Pace): Html {
  const { partitions, members } = view
  const totals = totalsOf(view)
  const crawls = view.crawls.toSorted((a, b) => b.waiting + b.unread - a.waiting - a.unread)
  const readers = [...view.readers, ...view.otherReaders]
  return html`${tiles(view, totals, pace)}
${lanesOf(view)}
<div class="pair">${outcomesByKind(partitions.map(({ counts }) => counts))}${section(
    'Processes',
    html`<a href="/fleet">announced in the last 5 s</a>`,
    html`<p>${rolesSentence(members)}</p>`,
  )}</div>
${crawls.length > 1 && section('Crawls', noteOf('crawl', crawls.length, '/crawls'), crawlsTable(crawls.slice(0, SHOWN), pace))}
${section('Readers of outcomes', noteOf('group', readers.length, '/readers'), readersTable(readers.slice(0, SHOWN)))}
${section('Partitions', count(partitions.length), partitionsTable(partitions))}`
}

const noteOf = (one: string, n: number, page: string): Html =>
  html`<a href="${page}">${n > SHOWN ? `those of ${some(n, one)} with most to do` : some(n, one)}</a>`

function tiles(view: Seen, totals: Totals, pace: Pace): Html {
  const { candidates, candidatesForMs, lagMs } = totals
  const { perMinute } = view.recent
  const nextLane = nextLaneOf(view)
  const oldest = candidatesForMs === undefined ? '' : `, the oldest ${length(candidatesForMs)}`
  return html`<section class="tiles">
${tile('Outcomes a minute', perMinute === undefined ? '…' : count(perMinute), sparkline(pace.series()))}
${tile('In flight', count(totals.inFlight), 'requests and orders out')}
${tile('URLs in lanes', count(totals.waiting), `${some(totals.lanes, 'lane has', 'lanes have')} work or a delay`)}
${tile('Candidates', `${view.intake.isEstimate ? '≈ ' : ''}${count(candidates)}`, candidates === 0 ? 'none waits for a gateway' : `wait for a gateway${oldest}`)}
${tile('Due lanes', count(totals.due), lagMs >= 100 ? `oldest ${length(lagMs)} late` : 'none is late')}
${tile('Next lane due', nextLane?.due ?? '–', nextLane?.what ?? 'no lane waits')}
${tile('Unread outcomes', count(totals.unread), 'for the frontier to read')}
</section>`
}

function sparkline(series: number[]): Html {
  const top = Math.max(1, ...series)
  const step = 120 / Math.max(1, series.length - 1)
  const points = series.map((n, i) => `${(i * step).toFixed(1)},${(22 - (n / top) * 20).toFixed(1)}`).join(' ')
  return html`<svg class="spark" viewBox="0 0 120 24" preserveAspectRatio="none" role="img" aria-label="outcomes per second, last three minutes"><polyline points="${points}"/></svg>`
}

function lanesOf({ lanes, partitions }: Seen): Html {
  const rows = lanes.map(({ partition, lane, origin }) => {
    const part = partitions[partition] ?? { now: lane.due ?? 0 }
    const why = whyItWaits(lane, origin, part)
    return [
      html`${originLink(lane.origin)}<small>${lane.head?.path.slice(0, 120)}</small>`,
      lane.agent,
      stateChip(why.state),
      why.sentence,
      robotsWord(origin.state),
      dueIn(lane, why, part.now),
      count(lane.waiting),
    ]
  })
  return section(
    'The soonest lanes, and why each waits',
    html`<a href="/origins?sort=soonest">all of them</a>`,
    table(
      'Lanes',
      { Origin: 'name', Agent: '', State: '', Why: 'long', 'robots.txt': '', 'Due in': 'number', URLs: 'number' },
      rows,
      {
        names: lanes.map(({ lane }) => `${lane.agent} ${lane.origin}`),
        none: 'No lane has URLs or a running delay.',
        shown: SHOWN,
      },
    ),
  )
}

function partitionsTable(partitions: PartitionView[]): Html {
  const columns = {
    Tag: 'name',
    'URLs in lanes': 'number',
    Lanes: 'number',
    Due: 'number',
    'In flight': 'number',
    Unread: 'number',
    Lag: 'number',
    Leases: '',
  } as const
  const rows = partitions.map(({ tag, now, waiting, lanes, due, inFlight, unread, nextDue = now, holdUntil = 0 }) => [
    html`<code>${tag}</code>`,
    ...[waiting, lanes, due, inFlight, unread].map(count),
    length(now - nextDue),
    holdUntil > now ? `held for ${length(holdUntil - now)}` : 'granted',
  ])
  return table('Partitions', columns, rows, { shown: SHOWN })
}
