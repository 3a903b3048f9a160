/** The requests of a guarded command through its proxy, summarised at its end. Pure. */
import { printable } from '@decorum/protocol'

export type Counts = { requests: number; held: number; heldMs: number; sent: number; refused: number; tunnels: number }
/** The proxy's answer to `/v1/counts`. */
export type ProxyCounts = { all: Counts; refusals: Record<string, number>; sites: Record<string, Counts> }

/** Most sites listed; further ones count only in the first line. */
const FEW_SITES = 10
/** Sites to which nothing was sent are listed, because the reader looks for what was refused. */
const MOST_REFUSED = 10

export function guardSummary({ all, refusals, sites }: ProxyCounts): string {
  const why = Object.entries(refusals).map(([type, count]) => `${count} ${printable(type)}`)
  const first = `${all.requests} requests: ${all.held} held${seconds(all)}, ${all.refused} refused${
    why.length > 0 ? ` (${why.join(', ')})` : ''
  }, ${all.sent} sent${all.tunnels > 0 ? `, of these ${all.tunnels} tunnels, in which nothing was judged` : ''}`
  if (all.requests === 0 && all.tunnels === 0)
    return `${first}; the command sent nothing through the proxy, and what it sent elsewhere was not paced`
  const known = Object.entries(sites)
  const shown =
    known.length <= FEW_SITES ? known : known.filter(([, { refused, sent }]) => refused > sent).slice(0, MOST_REFUSED)
  return [first, ...shown.map(([site, counts]) => `  ${printable(site)}: ${line(counts)}`)].join('\n')
}

const line = (counts: Counts): string =>
  `${counts.held} held${seconds(counts)}, ${counts.refused} refused, ${counts.sent} sent`

const seconds = ({ held, heldMs }: Counts): string =>
  held === 0 ? '' : ` for ${(heldMs / held / 1_000).toFixed(1)} s each`
