/** The tables of docs/peers.md, from results.json: `node bench/peers/page.ts` writes them anew without a run. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { median, table } from '../frame/figures.ts'
import { type Row, readResults } from './results.ts'
import { PEERS } from './table.ts'

const PAGE = join(import.meta.dirname, '../../docs/peers.md')

const HEAD = [
  'crawler',
  'processes',
  'over',
  'seeds',
  'overlaps',
  'too short',
  'forbidden',
  'before rules',
  'in Retry-After',
  'robots fetches',
  'pages of those allowed',
  'seconds',
  'load average',
  'share of the sites’ rate, %',
]
const ASKED = 'share of what was asked for, %'

/** A row for each peer, number of processes and scheme; figures are the median and the spread over the seeds. */
export function tableOf(rows: readonly Row[]): string[] {
  const lines: string[] = []
  for (const through of [false, true]) {
    const own = rows.filter((row) => row.through === through)
    if (own.length === 0) continue
    const kinds = Map.groupBy(own, ({ peer, processes, scheme }) => `${peer} ${processes} ${scheme}`)
    const cells = [...kinds.values()]
      .sort((one, other) => orderOf(one) - orderOf(other))
      .map((group) => cellsOf(group, through))
    lines.push('', through ? '**Through Decorum**' : '**Bare**', '', ...table(through ? [...HEAD, ASKED] : HEAD, cells))
  }
  return lines.slice(1)
}

function orderOf([row]: Row[]): number {
  if (row === undefined) return 0
  return PEERS.findIndex(({ key }) => key === row.peer) * 10 + row.processes * 2 + (row.scheme === 'https' ? 1 : 0)
}

function cellsOf(group: Row[], through: boolean): string[] {
  const [first] = group as [Row]
  const of = (read: (row: Row) => number): string => spreadOf(group.map(read))
  const percent = (read: (row: Row) => number): string => of((row) => Math.round(100 * read(row)))
  const cut = group.filter(({ ended }) => ended === 'cut').length
  return [
    PEERS.find(({ key }) => key === first.peer)?.name ?? first.peer,
    String(first.processes),
    first.scheme.toUpperCase(),
    String(group.length),
    of(({ overlaps }) => overlaps),
    of(({ short }) => short),
    of(({ forbidden }) => forbidden),
    of(({ beforeRules }) => beforeRules),
    of(({ inRetryAfter }) => inRetryAfter),
    of(({ robots }) => robots),
    `${of(({ pages }) => pages)} of ${first.allowed}`,
    of(({ seconds }) => seconds) + (cut > 0 ? ` (${cut} of ${group.length} ended by the bench)` : ''),
    of(({ load }) => load),
    percent(({ ofSites }) => ofSites),
    ...(through ? [percent(({ ofAsked }) => ofAsked ?? Number.NaN)] : []),
  ]
}

/** '8 (3–17)', or '0' where all are alike */
function spreadOf(values: number[]): string {
  const known = values.filter(Number.isFinite)
  if (known.length === 0) return '–'
  const [least, most] = [Math.min(...known), Math.max(...known)]
  const middle = String(Math.round(median(known) * 10) / 10)
  return least === most ? middle : `${middle} (${least}–${most})`
}

/** What README and docs/peers.md sum up in four rows. */
export function summaryOf(rows: readonly Row[]): string[] {
  const faults = ({ overlaps, short, forbidden, beforeRules, inRetryAfter }: Row): number[] => [
    overlaps,
    short,
    forbidden + beforeRules,
    inRetryAfter,
  ]
  return table(
    [
      'crawlers of others',
      'runs',
      'overlaps',
      'too short',
      'forbidden or before rules',
      'in Retry-After',
      'share of what was asked for: median, least of a crawler’s medians',
    ],
    [false, true].flatMap((through) =>
      [1, 3].map((processes) => {
        const own = rows.filter((row) => row.through === through && row.processes === processes)
        const sums = own.map(faults).reduce((sum, row) => row.map((value, n) => value + (sum[n] ?? 0)), [0, 0, 0, 0])
        const shares = own.flatMap(({ peer, ofAsked }) => (ofAsked === undefined ? [] : [{ peer, ofAsked }]))
        const byPeer = [...Map.groupBy(shares, ({ peer }) => peer).values()].map((of) =>
          median(of.map(({ ofAsked }) => ofAsked)),
        )
        const name = `${new Set(own.map(({ peer }) => peer)).size} crawlers, ${processes === 1 ? 'one process' : 'three processes'} each, ${through ? 'through Decorum' : 'bare'}`
        const share =
          byPeer.length === 0
            ? ''
            : `${percent(median(shares.map(({ ofAsked }) => ofAsked)))}, ${percent(Math.min(...byPeer))}`
        return [name, String(own.length), ...sums.map(String), share]
      }),
    ),
  )
}

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`

/** A crawler that was ended before it had half of its pages shows little of how it behaves. */
const saysEnough = ({ pages, allowed }: Row): boolean => pages * 2 >= allowed

/** What was left out for that, by crawler. */
function leftOut(rows: readonly Row[]): string[] {
  const few = rows.filter((row) => !saysEnough(row))
  const kinds = Map.groupBy(few, ({ peer, through }) => `${peer} ${through}`)
  return [...kinds.values()].map((group) => {
    const [{ peer, through }] = group as [Row]
    const name = PEERS.find(({ key }) => key === peer)?.name ?? peer
    return `\n${name} ${through ? 'through Decorum' : 'bare'}: ${group.length} runs are left out, because they were ended before half of their pages were had.`
  })
}

/** Puts the tables between the page's own marks. */
export function writePage(): void {
  const { rows: all, conditions, when, missing } = readResults()
  const rows = all.filter(saysEnough)
  const loads = rows.map(({ load }) => load).filter(Number.isFinite)
  const versions = PEERS.map(({ key, name }) => {
    const [row] = rows.filter(({ peer }) => peer === key)
    return row === undefined ? `${name} (not run)` : `${name} ${row.version}`
  })
  const parts: Record<string, string[]> = {
    summary: summaryOf(rows),
    conditions: [
      `${when}. ${conditions}. Load average at the end of a run: ${Math.min(...loads)} to ${Math.max(...loads)}. ${versions.join(', ')}.`,
      ...Object.entries(missing).map(
        ([key, why]) => `\n${PEERS.find((peer) => peer.key === key)?.name ?? key} was not run: ${why}.`,
      ),
      ...leftOut(all),
    ],
    results: tableOf(rows),
    notes: PEERS.map(({ name, file, note }) => `- **${name}** ([settings](../bench/peers/${file})): ${note}.`),
  }
  let page = readFileSync(PAGE, 'utf8')
  for (const [key, lines] of Object.entries(parts))
    page = page.replace(
      new RegExp(`(<!-- ${key} -->\n)[\\s\\S]*?(<!-- /${key} -->)`),
      (_, from, to) => `${from}\n${lines.join('\n')}\n\n${to}`,
    )
  writeFileSync(PAGE, page)
}

if (import.meta.main) writePage()
