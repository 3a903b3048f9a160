/** How the fleet is, for those who ask without a console: the sentence at the top of the overview, and what it is taken from. */
import type { Ledger, Reader } from '@decorum/ledger'
import { OUTCOME_KINDS } from '@decorum/protocol'
import { type Headline, headline, type Totals, totalsOf } from './pages/headline.ts'
import { looker } from './watch/looks.ts'

export {
  type CancelAnswer,
  type CandidateStatus,
  cancelCandidate,
  candidateStatus,
  type WhichCandidate,
} from './candidate-status.ts'

export type FleetStatus = { headline: Headline; totals: Totals; readers: Reader[] }

/** @param outcomesLimit  unread outcomes at which dispatch pauses, per partition */
export async function fleetStatus(ledger: Ledger, outcomesLimit: number): Promise<FleetStatus> {
  const look = await looker(ledger)()
  const totals =
    look.kind === 'seen' ? totalsOf(look.partitions, OUTCOME_KINDS, look.intake) : totalsOf([], OUTCOME_KINDS)
  return {
    headline: headline(look, totals, undefined, outcomesLimit),
    totals,
    readers: look.kind === 'seen' ? look.readers : [],
  }
}
