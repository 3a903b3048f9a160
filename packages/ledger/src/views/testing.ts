/** Internal parts, for tests and benches: the verbs of one partition. */
import type { Scripts } from '../stored.ts'
import { operate } from './operate.ts'
import type { ClosedList, LaneList, LaneScan, Operation } from './types.ts'
import { viewLanes } from './view-lanes.ts'
import { scanLanes, viewClosed } from './view-names.ts'
import { viewOrigin } from './view-origin.ts'
import { viewPartition } from './view-partition.ts'

export { VIEW_LUA, VIEW_VERBS, type ViewVerb } from './calls.ts'
export { dropPending } from './drop-pending.ts'
export { viewText } from './open.ts'

export const viewsOf = (scripts: Scripts) => ({
  operate: (operation: Operation, agents: string[]) => operate(scripts, operation, agents),
  'view-origin': (origin: string, agents: string[]) => viewOrigin(scripts, origin, agents),
  'view-lanes': (list: LaneList) => viewLanes(scripts, list),
  'view-closed': (list: ClosedList, agents: string[]) => viewClosed(scripts, list, agents),
  'scan-lanes': (scan: LaneScan) => scanLanes(scripts, scan),
  'view-partition': (tag: string) => viewPartition(scripts, tag),
})
