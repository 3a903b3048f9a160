/** The page at `/`: one glance says "polite, not stalled". Pure: a look in, markup out; no inline style or script. */

import { type Crawl, isRead, type Member, type PartitionView, type Reader } from '@decorum/ledger'
import { OUTCOME_KINDS } from '@decorum/protocol'
import type { Look, SoonLane } from '../watch/looks.ts'
import type { Pace } from '../watch/pace.ts'
import { opensIn, robotsWord, whyItWaits } from '../why.ts'
import { clock, count, length, some } from '../words.ts'
import { headline, type Totals, totalsOf } from './headline.ts'
import { type Html, html, type Piece } from './html.ts'
import { layout } from './layout.ts'

export type PageFacts = { look: Look; pace: Pace; outcomesLimit: number; version: string }

/** The whole document. The script replaces `<main>` by `/overview` every two seconds; without it the page reloads itself. */
export function overviewPage(facts: PageFacts): string {
  const body = html`<main data-follow="/overview">${overviewMain(facts)}</main>`
  return layout({ title: 'Decorum', body, version: facts.version, reload: true })
}

/** What changes from look to look. */
export function overviewMain({ look, pace, outcomesLimit }: PageFacts): Html {
  const partitions = look.kind === 'seen' ? look.partitions : []
  const totals = totalsOf(partitions, OUTCOME_KINDS)
  const perMinute = pace.perMinute()
  const head = headline(look, totals, perMinute, outcomesLimit)
  const top = html`<section class="headline ${head.tone}" role="status"><h1>${head.title}</h1><time>${clock(look.at)}</time><p>${head.sentence}</p></section>`
  if (look.kind === 'blind') return top
  return html`${top}
${tiles(totals, perMinute, pace.series())}
${lanesTable(look.lanes, partitions, totals)}
<div class="pair">${outcomes(partitions)}${processes(look.members)}</div>
${crawlsTable(look.crawls)}${readersTable(look.readers)}
${partitionsTable(partitions)}`
}

function tiles(totals: Totals, perMinute: number | undefined, series: number[]): Html {
  const next = totals.lagMs > 0 ? 'now' : totals.opensInMs === undefined ? '–' : `in ${length(totals.opensInMs)}`
  const late = totals.lagMs >= 100 ? `oldest ${length(totals.lagMs)} late` : 'none is late'
  return html`<section class="tiles">
${tile('Outcomes a minute', perMinute === undefined ? '…' : count(perMinute), sparkline(series))}
${tile('In flight', count(totals.inFlight), 'requests and orders out')}
${tile('URLs waiting', count(totals.waiting), `in ${some(totals.lanes, 'lane')}`)}
${tile('Open lanes', count(totals.due), late)}
${tile('Next lane opens', next, 'by the clock it owes')}
${tile('Unread outcomes', count(totals.unread), 'for the frontier to read')}
</section>`
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
    return html`<section><h2>Lanes</h2><p class="none">No lane has work or a running clock.</p></section>`
  const rows = lanes.flatMap(({ partition, lane, origin }) => {
    const part = partitions[partition]
    if (part === undefined) return []
    const why = whyItWaits(lane, origin, part)
    // the clock of a pace group is no site
    const name = /^https?:/.test(lane.origin)
      ? html`<a href="/origins/${encodeURIComponent(lane.origin)}">${lane.origin}</a>`
      : html`${lane.origin}`
    return html`<tr><td>${name}<small>${lane.head?.path.slice(0, 120) ?? ''}</small></td><td>${lane.agent}</td>
<td><span class="chip ${why.state.replace(' ', '-')}">${why.state}</span></td><td>${why.sentence}</td><td>${robotsWord(origin.state)}</td><td class="n">${opensIn(lane, why, part.now)}</td><td class="n">${count(lane.waiting)}</td></tr>`
  })
  const more = totals.lanes > rows.length ? ` · ${count(totals.lanes - rows.length)} more open later` : ''
  return html`<section><h2>The soonest lanes, and why each waits<small>${count(rows.length)} of ${count(totals.lanes)}${more}</small></h2>
<table class="lanes"><thead><tr><th>Origin</th><th>Agent</th><th>State</th><th>Why</th><th>robots.txt</th><th class="n">Opens in</th><th class="n">URLs</th></tr></thead><tbody>${rows}</tbody></table></section>`
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
<table><thead><tr><th>Role</th><th>Process</th><th class="n">Slots</th></tr></thead><tbody>
${list.map((one) => html`<tr><td>${one.role}</td><td><code>${one.id}</code></td><td class="n">${one.slots > 0 ? count(one.slots) : '–'}</td></tr>`)}
</tbody></table></section>`
}

/** Rows shown; the API has more. */
const READERS_SHOWN = 20
const CRAWLS_SHOWN = 20

/** Nothing where there is only the default crawl. */
function crawlsTable(crawls: Crawl[]): Html | string {
  if (crawls.length < 2) return ''
  const shown = [...crawls].sort((a, b) => b.waiting + b.unread - a.waiting - a.unread).slice(0, CRAWLS_SHOWN)
  const rows = shown.map(({ name, record, waiting, unread, counts }) => {
    const ended = Object.values(counts).reduce((sum, n) => sum + n, 0)
    const chip = record.state === 'running' ? 'due' : record.state === 'paused' ? 'late' : 'idle'
    return html`<tr><td>${name}<small>${record.reason}</small></td><td><span class="chip ${chip}">${record.state}</span></td><td class="n">${count(record.weight)}</td><td class="n">${count(waiting)}</td><td class="n">${count(ended)}</td><td class="n">${count(unread)}</td></tr>`
  })
  return html`<section><h2>Crawls<small>${some(crawls.length, 'crawl')}${crawls.length > shown.length ? ', those with most to do' : ''}</small></h2>
<table class="lanes"><thead><tr><th>Crawl</th><th>State</th><th class="n">Weight</th><th class="n">URLs waiting</th><th class="n">Outcomes</th><th class="n">Stored outcomes</th></tr></thead><tbody>${rows}</tbody></table></section>`
}

function readersTable(readers: Reader[]): Html {
  if (readers.length === 0)
    return html`<section><h2>Readers of outcomes</h2><p class="none">No consumer group reads. Outcomes are kept until one does.</p></section>`
  const shown = readers.slice(0, READERS_SHOWN)
  const rows = shown.map((reader) => {
    const { group, lag, lagIsLeast, pending, oldest, idleMs, consumers, consumerCount } = reader
    const holding = consumers.filter((one) => one.pending > 0).slice(0, 3)
    const names = holding.map(({ name, pending: n, idleMs: ms }) => `${name}: ${count(n)}, ${length(ms)} ago`)
    const [state, word] = isRead(reader)
      ? ['due', 'reading']
      : lag + pending === 0
        ? ['idle', 'has read all']
        : ['late', 'nobody reads']
    return html`<tr><td>${group}<small>${names.join(' · ')}</small></td><td><span class="chip ${state}">${word}</span></td><td class="n">${lagIsLeast ? 'over ' : ''}${count(lag)}</td><td class="n">${count(pending)}</td><td class="n">${oldest === undefined ? '–' : length(oldest.ageMs)}<small>${oldest?.id ?? ''}</small></td><td class="n">${count(consumerCount)}</td><td class="n">${idleMs === undefined ? '–' : `${length(idleMs)} ago`}</td></tr>`
  })
  return html`<section><h2>Readers of outcomes<small>${some(shown.length, 'group')}${readers.length > shown.length ? ' with most to read' : ''}</small></h2>
<table class="lanes"><thead><tr><th>Group</th><th>State</th><th class="n">Not handed out</th><th class="n">Not acknowledged</th><th class="n">Oldest</th><th class="n">Consumers</th><th class="n">Heard of</th></tr></thead><tbody>${rows}</tbody></table></section>`
}

function partitionsTable(partitions: PartitionView[]): Html {
  return html`<section><h2>Partitions</h2><table><thead><tr><th>Tag</th><th class="n">URLs waiting</th><th class="n">Lanes</th><th class="n">Open</th><th class="n">In flight</th><th class="n">Unread</th><th class="n">Lag</th><th>Grants</th></tr></thead><tbody>
${partitions.map((part) => {
  const lag = part.nextDue === undefined ? 0 : Math.max(0, part.now - part.nextDue)
  const held =
    part.holdUntil !== undefined && part.holdUntil > part.now
      ? `held for ${length(part.holdUntil - part.now)}`
      : 'given'
  return html`<tr><td><code>${part.tag}</code></td><td class="n">${count(part.waiting)}</td><td class="n">${count(part.lanes)}</td><td class="n">${count(part.due)}</td><td class="n">${count(part.inFlight)}</td><td class="n">${count(part.unread)}</td><td class="n">${length(lag)}</td><td>${held}</td></tr>`
})}
</tbody></table></section>`
}
