/** The state of the fleet, for commands that work without a console: the sentence at the top of the overview, and the data behind it. */
import type { Member, Reader } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { OUTCOME_KINDS } from '@decorum/protocol'
import { type Headline, headline, type Totals, totalsOf } from './pages/headline.ts'
import { looker } from './watch/looks.ts'
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
  const look = await looker(ledger)()
  const totals =
    look.kind === 'seen' ? totalsOf(look.partitions, OUTCOME_KINDS, look.intake) : totalsOf([], OUTCOME_KINDS)
  return {
    headline: headline(look, totals, outcomesLimit),
    totals,
    readers: look.kind === 'seen' ? [...look.readers, ...look.otherReaders] : [],
  }
}

/** The state for a terminal: the same view as the overview, without its markup. */
export type FleetLook = FleetStatus & {
  members: Member[]
  lanes: { name: string; state: WaitState; waiting: number }[]
}

export async function fleetLook(ledger: LedgerWithViews, outcomesLimit: number): Promise<FleetLook> {
  const look = await looker(ledger)()
  if (look.kind === 'blind') {
    const totals = totalsOf([], OUTCOME_KINDS)
    return { headline: headline(look, totals, outcomesLimit), totals, readers: [], members: [], lanes: [] }
  }
  const totals = totalsOf(look.partitions, OUTCOME_KINDS, look.intake)
  const lanes = look.lanes.flatMap(({ partition, lane, origin }) => {
    const part = look.partitions[partition]
    if (part === undefined) return []
    const { state } = whyItWaits(lane, origin, part)
    return [{ name: `${lane.origin} (${lane.agent})`, state, waiting: lane.waiting }]
  })
  const members = look.members.toSorted((a, b) => `${a.role} ${a.id}`.localeCompare(`${b.role} ${b.id}`))
  const top = headline(look, totals, outcomesLimit)
  return { headline: top, totals, readers: [...look.readers, ...look.otherReaders], members, lanes }
}
