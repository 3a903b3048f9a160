/** The requests of a guarded command through its proxy, summarised at its end. Pure. */
import { printable } from '@decorum/protocol'
import type { Counts } from '@decorum/proxy'
import { some } from '../say.ts'

/** The proxy's answer to `/v1/counts`. */
export type ProxyCounts = { all: Counts; refusals: Record<string, number>; sites: Record<string, Counts> }

/** Up to this many sites are all listed. */
const FEW_SITES = 10
/** Of more sites, only those with more requests refused than sent are listed, at most this many; the first line counts all. */
const MOST_REFUSED = 10

export function guardSummary({ all, refusals, sites }: ProxyCounts): string {
  if (all.requests === 0)
    return '0 requests: the command sent nothing through the proxy, and what it sent elsewhere was not paced'
  const why = Object.entries(refusals).map(([type, count]) => `${count} ${printable(type)}`)
  const tunnels = all.tunnels > 0 ? ` (${some(all.tunnels, 'tunnel')} among them, in which nothing was judged)` : ''
  const first = `${some(all.requests, 'request')}: ${line(all, tunnels, why.length > 0 ? ` (${why.join(', ')})` : '')}`
  const known = Object.entries(sites)
  const shown =
    known.length <= FEW_SITES ? known : known.filter(([, { refused, sent }]) => refused > sent).slice(0, MOST_REFUSED)
  return [first, ...shown.map(([site, counts]) => `  ${printable(site)}: ${line(counts)}`)].join('\n')
}

/** How the requests ended, in parts that add up to all of them, and how many of them waited. */
function line({ requests, held, heldMs, sent, refused, robots }: Counts, ofSent = '', ofRefused = ''): string {
  const gone = requests - sent - refused - robots
  const rest = [
    robots > 0 && `, ${robots} answered with the stored robots.txt`,
    gone > 0 && `, ${gone} given up by the command`,
  ]
  const waits = held === 0 ? '' : `; ${held} waited, ${(heldMs / held / 1_000).toFixed(1)} s each on average`
  return `${sent} sent${ofSent}, ${refused} refused${ofRefused}${rest.filter(Boolean).join('')}${waits}`
}
