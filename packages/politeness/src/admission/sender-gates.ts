/**
 * The gates that only a sender can judge, from its judgement of a URL: the same for stored URLs, permits, further requests and shadow
 * mode. The table of gates (packages/protocol/src/gates.ts) says for which requests they count. A stopped address is found when a turn is
 * taken (packages/sending/src/leases/turn.ts).
 */
import type { Gate, Instant } from '@decorum/protocol'
import type { Judgement } from '@decorum/robots'

/** `until`: when the gate opens, an instant of the ledger */
export type SenderGate = {
  gate: Extract<Gate, 'robots-in-flight' | 'robots-unreachable' | 'visiting-hours'>
  until: Instant
}

/**
 * @param visitFrom  when the Visit-time of the robots.txt begins; not after `now`: it has begun, or there is none
 * @returns undefined when no gate is closed, when the rules forbid the URL for good, and when the rules must be fetched first
 */
export function senderGate(judgement: Judgement, visitFrom: Instant, now: Instant): SenderGate | undefined {
  if (judgement.kind === 'wait') {
    const { why, until } = judgement
    return { gate: why === 'unreachable' ? 'robots-unreachable' : why, until }
  }
  return judgement.kind === 'allowed' && visitFrom > now ? { gate: 'visiting-hours', until: visitFrom } : undefined
}
