/** An origin as the API and its page describe it: the ledger's view, with the reason behind each lane. Pure. */

import type { Agents } from '@decorum/config'
import type { LaneView, OriginView } from '@decorum/ledger/views'
import { type DelayOwed, delayOwed } from '@decorum/politeness'
import { robotsWord, type Why, whyItWaits } from '../why.ts'

export type DescribedLane = LaneView & { why: Why; delay?: DelayOwed }
export type DescribedOrigin = Omit<OriginView, 'lanes'> & {
  robots: string
  sitemaps?: string[]
  lanes: DescribedLane[]
}

/** @param lanes  lanes to describe; a lane whose agent is no longer configured has no delay */
export function describeOrigin(origin: OriginView, agents: Agents, lanes: LaneView[] = origin.lanes): DescribedOrigin {
  return {
    ...origin,
    robots: robotsWord(origin.state),
    lanes: lanes.map((lane): DescribedLane => {
      const agent = agents.find(lane.agent)
      const why = whyItWaits(lane, origin, { now: origin.now }) // instants are compared with the time at which they were read
      return { ...lane, why, ...(agent === undefined ? {} : { delay: delayOwed(origin, agent) }) }
    }),
  }
}
