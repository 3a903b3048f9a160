/**
 * Which share of the permitted rate was used. A site permits a request when its last answer has ended and the delay owed after it (or its
 * Retry-After) is over. Pure.
 */
import type { RequestLine } from '@decorum/audit'

/** A request as it came to the proxy, and when its answer ended or its client went away. */
export type Arrival = { url: string; at: number; end: number }

type Owed = (host: string, status: number) => number

/** One site's exchanges in order, each with the instant from which on the next one was permitted. */
function laneOf(requests: readonly RequestLine[], origin: string, owedMs: Owed): (RequestLine & { openAt: number })[] {
  const { hostname } = new URL(origin)
  return requests
    .filter((one) => one.origin === origin)
    .toSorted((one, other) => one.start - other.start)
    .map((one) => ({ ...one, openAt: one.end + owedMs(hostname, one.path === '/robots.txt' ? 200 : one.status) }))
}

/**
 * What one polite visitor would have needed at the slowest site for what that site answered, over the time that all took: above 1 the sites
 * were asked faster than they permit, below 1 also for what the crawler did not ask for in time.
 */
export function shareOfSites(requests: readonly RequestLine[], origins: string[], owedMs: Owed): number {
  const needed = origins.map((origin) => {
    const lane = laneOf(requests, origin, owedMs)
    return lane.reduce((ms, { start, end, openAt }, n) => ms + (n < lane.length - 1 ? openAt : end) - start, 0)
  })
  const took = Math.max(...requests.map(({ end }) => end)) - Math.min(...requests.map(({ start }) => start))
  return Math.max(...needed) / took
}

/**
 * The same by the client's own order: time counts as lost while a site permitted a request, one for it waited at the proxy, and none was
 * sent. The share is that of exchanges and owed delays in the sum of these and of what was lost, over all sites.
 */
export function shareOfAsked(
  requests: readonly RequestLine[],
  origins: string[],
  arrivals: readonly Arrival[],
  owedMs: Owed,
): number {
  let permitted = 0
  let lost = 0
  for (const origin of origins) {
    const waiting = unionOf(arrivals.filter(({ url }) => url.startsWith(`${origin}/`)))
    const lane = laneOf(requests, origin, owedMs)
    for (const [n, { start }] of lane.entries()) {
      const before = lane[n - 1]
      if (before !== undefined) permitted += before.openAt - before.start
      lost += within(waiting, before?.openAt ?? Number.NEGATIVE_INFINITY, start)
    }
  }
  return permitted / (permitted + lost)
}

type Span = { from: number; to: number }

/** When at least one of them was there. */
function unionOf(arrivals: readonly Arrival[]): Span[] {
  const spans: Span[] = []
  for (const { at, end } of arrivals.toSorted((one, other) => one.at - other.at)) {
    const last = spans.at(-1)
    if (last !== undefined && at <= last.to) last.to = Math.max(last.to, end)
    else spans.push({ from: at, to: end })
  }
  return spans
}

/** How much of the time between two instants lies in the spans, ms. */
const within = (spans: readonly Span[], from: number, to: number): number =>
  spans.reduce((ms, span) => ms + Math.max(0, Math.min(to, span.to) - Math.max(from, span.from)), 0)
