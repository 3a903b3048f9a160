/** view-origin: one origin, and its lane of each agent. */

import type { Scripts } from '../stored.ts'
import { callView, LANE_ROW } from './calls.ts'
import type { LaneView, OriginView } from './types.ts'
import { endOfOrigin, laneView, originView } from './views.ts'

export async function viewOrigin(scripts: Scripts, origin: string, agents: string[]): Promise<OriginView> {
  const { now, values } = await callView(scripts, 'view-origin', { origin }, agents)
  const lanes: LaneView[] = []
  for (let at = endOfOrigin(values, 0); at < values.length; at += LANE_ROW.at.size) lanes.push(laneView(values, at))
  return originView(origin, values, 0, lanes, now)
}
