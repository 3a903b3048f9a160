/** Retry-After, as a site asked for it with 429 or 503 on a page: until then no agent of that party comes, for anything. */
import { parseRetryAfter } from '@decorum/robots'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import { Heap } from './heap.ts'
import type { Asking } from './knowledge.ts'
import type { Asked, Hearer, Lane } from './lanes.ts'
import type { Meter } from './meter.ts'

/**
 * Rows come by start, so a request never stands in the window of its own answer.
 * @param graceMs  what other lanes of the party may need to hear of it; its own lane needs none
 */
export function judgeInBackOff(
  row: number,
  lane: Lane,
  asking: Asking,
  { exchanges, findings, graceMs, meter }: { exchanges: Exchanges; findings: Findings; graceMs: number; meter: Meter },
): void {
  const { place } = lane
  hear(lane, asking.startMin, meter)
  hear(place, asking.startMin, meter)
  const closed = later(lane.closed, place.closed)
  if (closed !== undefined && asking.startMax < closed.until) {
    const early = closed.until - asking.startMax
    findings.blame({
      row,
      offence: 'in-back-off',
      share: early / (early + 60_000),
      after: closed.row,
      since: Number.NEGATIVE_INFINITY,
      because: () => `the site had asked for ${(early / 1_000).toFixed(3)} s more without a request`,
    })
  }
  const status = exchanges.status[row] as number
  if ((status !== 429 && status !== 503) || exchanges.isRobots(row) || asking.chain >= 0) return
  const end = exchanges.endMin[row] as number
  const ms = parseRetryAfter(exchanges.header(row), end)
  if (ms === undefined) return
  const heard = exchanges.endMax[row] as number
  lane.toHear ??= new Heap()
  lane.toHear.push(heard, { until: end + ms, row })
  place.toHear ??= new Heap()
  place.toHear.push(heard + graceMs, { until: end + ms, row })
}

/** Takes in what has become known by an instant. */
function hear(hearer: Hearer, at: number, meter: Meter): void {
  const { toHear } = hearer
  if (toHear === undefined) return
  for (let asked = toHear.popUntil(at); asked !== undefined; asked = toHear.popUntil(at)) {
    meter.steps++
    hearer.closed = later(hearer.closed, asked)
  }
}

const later = (a: Asked | undefined, b: Asked | undefined): Asked | undefined =>
  a === undefined || (b !== undefined && b.until > a.until) ? b : a
