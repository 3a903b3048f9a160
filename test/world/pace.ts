/**
 * How near the fleet came to the rate that it may have: of each host, from the end of one request to the end of the next, the time that was owed and that
 * the site took, over the time that passed. A host without a URL to fetch is not busy, and time during which it was closed does not count.
 */
import type { RequestLine } from '@decorum/audit'
import type { Closed } from './closed.ts'
import { OF_OTHERS, type Site } from './sites.ts'

/** Fewer requests say nothing about a host. */
const LEAST = 8
/** A host that has this share of its rate is as busy as the figures want it. */
export const BUSY = 0.8

export type Pace = {
  /** hosts with enough requests, and those of them that had at least `BUSY` of their rate */
  hosts: number
  busy: number
  /** of all of them together */
  share: number
}

/** After these a site is closed for longer than its delay, by rules that the judge of the pace does not repeat. */
const closes = ({ status, path, start, end, retryAfter }: RequestLine): boolean =>
  status === 429 ||
  status === 503 ||
  status === 403 ||
  retryAfter !== undefined ||
  (status === 0 && end - start < 50) || // it hung up
  end - start > 25_000 || // the deadline of the exchange passed
  (path === '/robots.txt' && status !== 200 && status !== 404)

export function paceOf(requests: readonly RequestLine[], sites: readonly Site[], closed: Closed, owedMs: number): Pace {
  const byHost = Map.groupBy(requests, ({ origin }) => new URL(origin).hostname)
  const pace = { hosts: 0, busy: 0, share: 0 }
  let [allowed, passed] = [0, 0]
  for (const site of sites) {
    if (site.connectMs !== undefined) continue // how long connecting took is not in the record
    const all = (byHost.get(site.host) ?? []).toSorted((one, other) => one.start - other.start)
    // Behind the last URL of the frontier it is busy no more, whoever comes now and then
    const lines = all.slice(0, 1 + all.findLastIndex(({ path }) => !path.startsWith(OF_OTHERS)))
    let [ofHost, inAll, count] = [0, 0, 0]
    for (const [n, line] of lines.entries()) {
      const before = lines[n - 1]
      // A robots.txt is fetched when somebody wants its rules, also by a redirect of another host's
      if (
        before === undefined ||
        line.path === '/robots.txt' ||
        closes(before) ||
        closed.between(site, before.end, line.start)
      )
        continue
      const took = line.end - line.start
      ofHost += Math.max(site.delayMs, owedMs) + took
      inAll += Math.max(0, line.start - before.end) + took
      count++
    }
    if (count < LEAST) continue
    pace.hosts++
    if (ofHost >= BUSY * inAll) pace.busy++
    allowed += ofHost
    passed += inAll
  }
  pace.share = passed === 0 ? 0 : allowed / passed
  return pace
}
