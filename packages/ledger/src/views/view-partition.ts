/** view-partition: the partition as a whole. */

import type { Scripts } from '../stored.ts'
import { callView, PARTITION_ROW } from './calls.ts'
import type { PartitionView } from './types.ts'
export async function viewPartition(scripts: Scripts, tag: string): Promise<PartitionView> {
  const { now, values } = await callView(scripts, 'view-partition', {})
  const { holdUntil, due, withoutLease, inFlight, unread, nextDue } = PARTITION_ROW.read(values)
  const counts: Record<string, number> = {}
  for (let at = PARTITION_ROW.at.size; at < values.length; at += 2)
    counts[values[at] as string] = Number(values[at + 1])
  return {
    tag,
    now,
    ...(Number(holdUntil) > now ? { holdUntil: Number(holdUntil) } : {}),
    due: Number(due),
    lanes: Number(withoutLease) + Number(inFlight),
    inFlight: Number(inFlight),
    waiting: (counts.parked ?? 0) - (counts.left ?? 0),
    unread: Number(unread),
    ...(nextDue === '' ? {} : { nextDue: Number(nextDue) }),
    counts,
  }
}
