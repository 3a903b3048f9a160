/** An origin as the API and its page tell it: the ledger's view, with the reason behind each lane. Pure. */

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

/** @param lanes  those that are shown; a lane of an agent that is configured no more has no delay of its own */
export function describeOrigin(origin: OriginView, agents: Agents, lanes: LaneView[] = origin.lanes): DescribedOrigin {
  return {
    ...origin,
    robots: robotsWord(origin.state),
    lanes: lanes.map((lane): DescribedLane => {
      const agent = agents.find(lane.agent)
      const why = whyItWaits(lane, origin, { now: origin.now }) // one clock for all that is compared: that of the reading itself
      return { ...lane, why, ...(agent === undefined ? {} : { delay: delayOwed(origin, agent) }) }
    }),
  }
}
