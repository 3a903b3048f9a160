/** The state of the fleet, for commands that work without a console: the sentence at the top of the overview, and the data behind it. */
import type { Member, Reader } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { OUTCOME_KINDS } from '@decorum/protocol'
import { type Headline, headline, type Totals, totalsOf } from './pages/headline.ts'
import { fleetViewer } from './watch/fleet-view.ts'
import { type WaitState, whyItWaits } from './why.ts'

export {
  type CancelAnswer,
  type CandidateStatus,
  cancelCandidate,
  candidateStatus,
  type WhichCandidate,
} from './candidate-status.ts'

export type FleetStatus = { headline: Headline; totals: Totals; readers: Reader[] }

/** @param outcomesLimit  unread outcomes at which dispatch pauses, per partition */
export async function fleetStatus(ledger: LedgerWithViews, outcomesLimit: number): Promise<FleetStatus> {
  const view = await fleetViewer(ledger)()
  const totals =
    view.kind === 'seen' ? totalsOf(view.partitions, OUTCOME_KINDS, view.intake) : totalsOf([], OUTCOME_KINDS)
  return {
    headline: headline(view, totals, outcomesLimit),
    totals,
    readers: view.kind === 'seen' ? [...view.readers, ...view.otherReaders] : [],
  }
}

/** The state for a terminal: the same view as the overview, without its markup. */
export type TerminalView = FleetStatus & {
  members: Member[]
  lanes: { name: string; state: WaitState; waiting: number }[]
}

export async function terminalView(ledger: LedgerWithViews, outcomesLimit: number): Promise<TerminalView> {
  const view = await fleetViewer(ledger)()
  if (view.kind === 'unavailable') {
    const totals = totalsOf([], OUTCOME_KINDS)
    return { headline: headline(view, totals, outcomesLimit), totals, readers: [], members: [], lanes: [] }
  }
  const totals = totalsOf(view.partitions, OUTCOME_KINDS, view.intake)
  const lanes = view.lanes.flatMap(({ partition, lane, origin }) => {
    const part = view.partitions[partition]
    if (part === undefined) return []
    const { state } = whyItWaits(lane, origin, part)
    return [{ name: `${lane.origin} (${lane.agent})`, state, waiting: lane.waiting }]
  })
  const members = view.members.toSorted((a, b) => `${a.role} ${a.id}`.localeCompare(`${b.role} ${b.id}`))
  const top = headline(view, totals, outcomesLimit)
  return { headline: top, totals, readers: [...view.readers, ...view.otherReaders], members, lanes }
}
