/** claim: a lane for an order of its origin's robots.txt, when no URL of the lane asks for one. */
import { CLAIM_WAIT, CLAIMED } from '../calls.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { ClaimAnswer, GrantGate, LaneRef } from '../types.ts'

export async function claim(
  scripts: Scripts,
  { grantAheadMs, reserveMs }: VerbSettings,
  { agent, origin }: LaneRef,
): Promise<ClaimAnswer> {
  const args = { lane: laneName(agent, origin), aheadMs: grantAheadMs, reserveMs }
  const { values } = await scripts.call('claim', args)
  const { answer, fence, notBefore, version } = CLAIMED.read(values)
  if (answer === 'claimed')
    return { kind: answer, fence: Number(fence), notBefore: Number(notBefore), version: Number(version) }
  const { waitMs, gate } = CLAIM_WAIT.read(values)
  return { kind: 'wait', waitMs: Number(waitMs), gate: gate as GrantGate | 'robots-in-flight' }
}
