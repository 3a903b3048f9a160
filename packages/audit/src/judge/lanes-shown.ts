/** Which lanes are worth looking at, and what they look like over time. */
import { OFFENCE_NAMES } from '../offences.ts'
import type { LaneTimeline } from '../report.ts'
import type { Exchanges } from './columns.ts'
import type { Lane } from './lanes.ts'

/** Exchanges of one lane that are drawn one by one; more are drawn as counts. */
const DRAWN_SINGLY = 400
const BUCKETS = 240

export const violationsIn = ({ offences }: { offences?: Partial<Record<string, number>> | undefined }): number => {
  let sum = 0
  for (const times of Object.values(offences ?? {})) sum += times ?? 0
  return sum
}

type Rankable = {
  requests: number
  smallestSlackMs?: number | undefined
  offences?: Partial<Record<string, number>> | undefined
}

/** Lanes worth drawing: those with most violations, then with least slack. */
export function worstLanes<L extends Rankable>(reports: readonly L[], most: number): L[] {
  const slack = (lane: L): number => lane.smallestSlackMs ?? Number.POSITIVE_INFINITY
  return reports
    .toSorted((a, b) => violationsIn(b) - violationsIn(a) || slack(a) - slack(b) || b.requests - a.requests)
    .slice(0, most)
}

export function timelinesOf(
  { exchanges, lanes }: { exchanges: Exchanges; lanes: { all: Lane[] } },
  most: number,
  order: Uint32Array,
): LaneTimeline[] {
  const chosen = new Map<Lane, LaneTimeline>()
  for (const lane of worstLanes(lanes.all, most)) {
    const buckets = lane.requests > DRAWN_SINGLY ? emptyBuckets() : []
    const { agent, origin } = lane
    chosen.set(lane, { agent: agent.name, origin, from: Number.POSITIVE_INFINITY, to: 0, exchanges: [], buckets })
  }
  const drawnAt = (row: number): LaneTimeline | undefined =>
    chosen.get(lanes.all[exchanges.lane[row] as number] as Lane)
  for (const row of order) {
    const drawn = drawnAt(row)
    if (drawn === undefined) continue
    drawn.from = Math.min(drawn.from, exchanges.startMin[row] as number)
    drawn.to = Math.max(drawn.to, exchanges.endMax[row] as number)
  }
  for (const row of order) {
    const drawn = drawnAt(row)
    if (drawn === undefined) continue
    const start = exchanges.startMin[row] as number
    const found = exchanges.found[row] as number
    if (drawn.buckets.length === 0) {
      drawn.exchanges.push({
        start,
        end: exchanges.endMax[row] as number,
        path: exchanges.path(row),
        status: exchanges.status[row] as number,
        offences: OFFENCE_NAMES.filter((_, bit) => (found & (1 << bit)) !== 0),
      })
    } else {
      const share = (start - drawn.from) / Math.max(drawn.to - drawn.from, 1)
      const bucket = drawn.buckets[Math.min(Math.floor(share * BUCKETS), BUCKETS - 1)]
      if (bucket === undefined) continue
      bucket.requests++
      if (found !== 0) bucket.violations++
    }
  }
  return [...chosen.values()]
}

const emptyBuckets = (): LaneTimeline['buckets'] =>
  Array.from({ length: BUCKETS }, () => ({ requests: 0, violations: 0 }))
