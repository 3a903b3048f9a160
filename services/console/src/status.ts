/** The state of the fleet, for commands that work without a console: the sentence at the top of the overview, and the data behind it. */
import type { LedgerWithViews } from '@decorum/ledger/views'
import { headline, totalsOf } from './pages/headline.ts'
import { fleetViewer } from './watch/fleet-view.ts'
import { whyItWaits } from './why.ts'

export {
  type CancelAnswer,
  type CandidateStatus,
  cancelCandidate,
  candidateStatus,
  type WhichCandidate,
} from './candidate-status.ts'

export type FleetStatus = Awaited<ReturnType<typeof fleetStatus>>

/** @param outcomesLimit  unread outcomes at which dispatch pauses, per partition */
export async function fleetStatus(ledger: LedgerWithViews, outcomesLimit: number) {
  const view = await fleetViewer(ledger)()
  const top = { headline: headline(view, outcomesLimit), totals: totalsOf(view) }
  if (view.kind === 'unavailable') return { ...top, readers: [], members: [], lanes: [] }
  const lanes = view.lanes.flatMap(({ partition, lane, origin }) => {
    const part = view.partitions[partition]
    if (part === undefined) return []
    const { state } = whyItWaits(lane, origin, part)
    return [{ name: `${lane.origin} (${lane.agent})`, state, waiting: lane.waiting }]
  })
  const members = view.members.toSorted((a, b) => `${a.role} ${a.id}`.localeCompare(`${b.role} ${b.id}`))
  return { ...top, readers: [...view.readers, ...view.otherReaders], members, lanes }
}
