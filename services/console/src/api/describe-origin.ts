/** An origin as the API and its page tell it: the ledger's view, with the reason behind each lane. Pure. */
import type { LaneView, OriginView, PartitionView } from '@decorum/ledger'
import type { Agents } from '@decorum/protocol'
import { type GapOwed, gapOwed } from '../gap-owed.ts'
import { robotsWord, type Why, whyItWaits } from '../why.ts'

export type ToldLane = LaneView & { why: Why; gap?: GapOwed }
export type ToldOrigin = Omit<OriginView, 'lanes'> & { robots: string; lanes: ToldLane[] }

/** @param lanes  those that are told; a lane of an agent that is configured no more has no gap of its own */
export function describeOrigin(
  origin: OriginView,
  part: Pick<PartitionView, 'heldUntil'>,
  agents: Agents,
  lanes: LaneView[] = origin.lanes,
): ToldOrigin {
  // One clock for all that is compared: that of the reading itself
  const at = { now: origin.now, ...(part.heldUntil === undefined ? {} : { heldUntil: part.heldUntil }) }
  return {
    ...origin,
    robots: robotsWord(origin.state),
    lanes: lanes.map((lane): ToldLane => {
      const agent = agents.find(lane.agent)
      const why = whyItWaits(lane, origin, at)
      return { ...lane, why, ...(agent === undefined ? {} : { gap: gapOwed(origin, agent) }) }
    }),
  }
}
