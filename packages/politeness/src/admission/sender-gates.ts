/**
 * The gates that only a sender knows, from what it has judged of a URL: one answer for stored URLs, permits, further requests and shadow mode.
 * The table of gates (packages/protocol/src/gates.ts) says for which requests they count. A stopped address is looked up when a turn is
 * taken (packages/sending/src/leases/turn.ts).
 */
import type { Gate, Instant } from '@decorum/protocol'
import type { Judgement } from '@decorum/robots'

/** `until`: when it opens, an instant of the ledger */
export type SenderGate = {
  gate: Extract<Gate, 'robots-in-flight' | 'robots-unreachable' | 'visiting-hours'>
  until: Instant
}

/**
 * @param visitFrom  when the Visit-time of the robots.txt begins; not after `now`: it has begun, or there is none
 * @returns undefined where none is closed, where the rules forbid the URL for good, and where they have to be fetched first
 */
export function senderGate(judgement: Judgement, visitFrom: Instant, now: Instant): SenderGate | undefined {
  if (judgement.kind === 'wait') {
    const { why, until } = judgement
    return { gate: why === 'unreachable' ? 'robots-unreachable' : why, until }
  }
  return judgement.kind === 'allowed' && visitFrom > now ? { gate: 'visiting-hours', until: visitFrom } : undefined
}
