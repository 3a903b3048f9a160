/** Origins by their lanes: as they open, or as their leases end; those alone that wait for one reason, if wanted. */

import type { Agents } from '@decorum/config'
import { type LaneList, type Ledger, type PartitionView, thatAnswer } from '@decorum/ledger'
import type { WaitState } from '../why.ts'
import { describeOrigin, type ToldLane, type ToldOrigin } from './describe-origin.ts'

export type ListWish = { sort?: LaneList['order'] | undefined; limit: number; state?: WaitState | undefined }
export type OriginList = { origins: ToldOrigin[]; looked: number; complete: boolean }

/** Lanes looked at per partition, in search of what was asked for: five calls of about 1 ms of Redis. */
const LOOK_AT = 1_000
const AT_ONCE = 200

/** Where lanes that wait for this are found first: what is shut has been put behind all that is open. */
const FOUND: { [state in WaitState]?: LaneList['order'] } = {
  'in flight': 'in-flight',
  'back-off': 'latest',
  robots: 'latest',
  paused: 'latest',
  stopped: 'latest',
}

export async function listOrigins(ledger: Ledger, agents: Agents, asked: ListWish): Promise<OriginList> {
  const wish = { ...asked, sort: asked.sort ?? (asked.state && FOUND[asked.state]) ?? ('soonest' as const) }
  const lists = await thatAnswer(ledger.tags.map((_, partition) => listPartition(ledger, partition, agents, wish)))
  const found = lists.flatMap(({ lanes }) => lanes)
  const rank = ({ lane }: Found): number => lane.due ?? lane.lease ?? 0
  found.sort((a, b) => (wish.sort === 'latest' ? rank(b) - rank(a) : rank(a) - rank(b)))
  const origins = new Map<string, ToldOrigin>()
  let complete = lists.length === ledger.tags.length && lists.every((list) => list.complete)
  for (const { lane, origin } of found) {
    const told = origins.get(lane.origin)
    const { lease: _, ...shown } = lane
    if (told !== undefined) told.lanes.push(shown)
    else if (origins.size < wish.limit) origins.set(lane.origin, { ...origin, lanes: [shown] })
    else complete = false
  }
  return { origins: [...origins.values()], looked: lists.reduce((n, { looked }) => n + looked, 0), complete }
}

/** `lease`: place in the order of leases, which have no due time */
type Found = { lane: ToldLane & { lease?: number }; origin: ToldOrigin }

async function listPartition(
  ledger: Ledger,
  partition: number,
  agents: Agents,
  { sort, limit, state }: ListWish & { sort: LaneList['order'] },
): Promise<{ lanes: Found[]; looked: number; complete: boolean }> {
  const part: PartitionView = await ledger.viewPartition(partition)
  const lanes = new Map<string, Found>()
  const origins = new Set<string>()
  let looked = 0
  while (looked < LOOK_AT && origins.size < limit) {
    const rows = await ledger.viewLanes(partition, { order: sort, limit: AT_ONCE, skip: looked })
    for (const { lane, origin } of rows) {
      looked += 1
      const told = describeOrigin(origin, part, agents, [lane])
      const [first] = told.lanes
      if (first === undefined || !(state === undefined ? first.state !== 'idle' : first.why.state === state)) continue
      // Lanes move while they are paged through: one that comes twice is told once
      lanes.set(`${lane.agent} ${lane.origin}`, { lane: { ...first, lease: looked }, origin: told })
      origins.add(lane.origin)
    }
    if (rows.length < AT_ONCE) return { lanes: [...lanes.values()], looked, complete: true }
  }
  return { lanes: [...lanes.values()], looked, complete: false }
}
