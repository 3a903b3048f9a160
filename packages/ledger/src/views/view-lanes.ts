/** view-lanes: lanes in the order in which they become due or their leases end, each with its origin. */

import type { Scripts } from '../stored.ts'
import { callView, LANE_ROW } from './calls.ts'
import type { LaneInOrigin, LaneList } from './types.ts'
import { endOfOrigin, laneView, originView } from './views.ts'

/** Number of lanes in one call: about 1 ms of Redis. */
const MAX_LANES = 200

export async function viewLanes(scripts: Scripts, { order, limit, skip = 0 }: LaneList): Promise<LaneInOrigin[]> {
  if (limit < 1) return []
  const { now, values } = await callView(scripts, 'view-lanes', { order, skip, limit: Math.min(limit, MAX_LANES) })
  const found: LaneInOrigin[] = []
  for (let at = 0; at < values.length;) {
    const lane = laneView(values, at)
    const origin = at + LANE_ROW.at.size
    found.push({ lane, origin: originView(lane.origin, values, origin, [lane], now) })
    at = endOfOrigin(values, origin)
  }
  return found
}
