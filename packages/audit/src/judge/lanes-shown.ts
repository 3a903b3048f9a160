/** Selects the lanes to show, and prepares their timelines. */
import { OFFENCE_NAMES } from '../offences.ts'
import type { LaneReport, LaneTimeline } from '../report.ts'
import type { Exchanges } from './columns.ts'
import type { Lanes } from './lanes.ts'

/** Number of exchanges of one lane that are drawn singly; more are drawn as counts. */
const DRAWN_SINGLY = 400
const BUCKETS = 240

export const violationsIn = ({ offences }: LaneReport): number => {
  let sum = 0
  for (const times of Object.values(offences)) sum += times ?? 0
  return sum
}

/** The figures by which lanes are compared. */
type Figures<L> = {
  violations: (lane: L) => number
  slack: (lane: L) => number | undefined
  requests: (lane: L) => number
}

/** Orders lanes by most violations, then least slack, then most requests. */
export function byWorst<L>({ violations, slack, requests }: Figures<L>): (a: L, b: L) => number {
  const slackOf = (lane: L): number => slack(lane) ?? Number.POSITIVE_INFINITY
  return (a, b) => {
    const difference = violations(b) - violations(a)
    if (difference !== 0) return difference
    const [one, other] = [slackOf(a), slackOf(b)]
    return one === other ? requests(b) - requests(a) : one - other
  }
}

/** The lanes of a report that are worth drawing. */
export function worstLanes(reports: readonly LaneReport[], most: number): LaneReport[] {
  const order = byWorst<LaneReport>({
    violations: violationsIn,
    slack: ({ smallestSlackMs }) => smallestSlackMs,
    requests: ({ requests }) => requests,
  })
  return reports.toSorted(order).slice(0, most)
}

/** @param chosen  the lanes that are drawn, by number, the worst first */
export function timelinesOf(
  { exchanges, lanes, order }: { exchanges: Exchanges; lanes: Lanes; order: Uint32Array },
  chosen: readonly { lane: number; requests: number }[],
): LaneTimeline[] {
  const drawn = new Map<number, LaneTimeline>()
  for (const { lane, requests } of chosen) {
    const [agent, origin] = [lanes.agent(lane).name, lanes.origin(lane)]
    const buckets = requests > DRAWN_SINGLY ? emptyBuckets() : []
    drawn.set(lane, { agent, origin, from: Number.POSITIVE_INFINITY, to: 0, exchanges: [], buckets })
  }
  const drawnAt = (row: number): LaneTimeline | undefined => drawn.get(exchanges.lane[row] as number)
  for (const row of order) {
    const timeline = drawnAt(row)
    if (timeline === undefined) continue
    timeline.from = Math.min(timeline.from, exchanges.startMin(row))
    timeline.to = Math.max(timeline.to, exchanges.endMax(row))
  }
  for (const row of order) {
    const timeline = drawnAt(row)
    if (timeline === undefined) continue
    const start = exchanges.startMin(row)
    const found = exchanges.found[row] as number
    if (timeline.buckets.length === 0) {
      timeline.exchanges.push({
        start,
        end: exchanges.endMax(row),
        path: exchanges.path(row),
        status: exchanges.status[row] as number,
        offences: OFFENCE_NAMES.filter((_, bit) => (found & (1 << bit)) !== 0),
      })
    } else {
      const share = (start - timeline.from) / Math.max(timeline.to - timeline.from, 1)
      const bucket = timeline.buckets[Math.min(Math.floor(share * BUCKETS), BUCKETS - 1)]
      if (bucket === undefined) continue
      bucket.requests++
      if (found !== 0) bucket.violations++
    }
  }
  return [...drawn.values()]
}

const emptyBuckets = (): LaneTimeline['buckets'] =>
  Array.from({ length: BUCKETS }, () => ({ requests: 0, violations: 0 }))
