/** Lists origins by the gate that holds them (view-closed), and lanes by the domain of their host (scan-lanes). */

import type { Scripts } from '../stored.ts'
import { callView, LANE_ROW } from './calls.ts'
import type { ClosedList, LaneInOrigin, LaneScan, OriginView } from './types.ts'
import { endOfOrigin, laneView, originView } from './views.ts'

/** Number of origins or lanes in one call: about 1 ms of Redis. */
const MAX_SHOWN = 200

export async function viewClosed(
  scripts: Scripts,
  { gate, skip, limit, domain }: ClosedList,
  agents: string[],
): Promise<{ origins: (OriginView & { place: number })[]; looked: number }> {
  const args = { gate, skip, limit: Math.min(limit, MAX_SHOWN), domain }
  const { now, values } = await callView(scripts, 'view-closed', args, agents)
  const origins: (OriginView & { place: number })[] = []
  for (let at = 1; at < values.length;) {
    const fields = at + 2
    const end = endOfOrigin(values, fields)
    const lanes = agents.map((_, n) => laneView(values, end + n * LANE_ROW.at.size))
    const view = originView(values[at + 1] as string, values, fields, lanes, now)
    origins.push({ ...view, place: skip + Number(values[at]) - 1 })
    at = end + agents.length * LANE_ROW.at.size
  }
  return { origins, looked: Number(values[0]) }
}

export async function scanLanes(
  scripts: Scripts,
  { cursor, skip, domain, limit }: LaneScan,
): Promise<{ lanes: (LaneInOrigin & { place: string })[]; cursor: string; skip: number; looked: number }> {
  const args = { cursor, skip, name: domain, limit: Math.min(limit, MAX_SHOWN) }
  const { now, values } = await callView(scripts, 'scan-lanes', args)
  const lanes: (LaneInOrigin & { place: string })[] = []
  for (let at = 3; at < values.length;) {
    const lane = laneView(values, at + 1)
    const origin = at + 1 + LANE_ROW.at.size
    lanes.push({ place: values[at] ?? '', lane, origin: originView(lane.origin, values, origin, [lane], now) })
    at = endOfOrigin(values, origin)
  }
  return { lanes, cursor: values[0] ?? '0', skip: Number(values[1]), looked: Number(values[2]) * STEP }
}

/** Approximate number of lanes in one step. */
const STEP = 1_000
