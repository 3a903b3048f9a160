/** claim: reserves a lane for an order of its origin's robots.txt, when no URL of the lane needs one. */
import { CLAIM_WAIT, CLAIMED } from '../calls.ts'
import { readRecord } from '../crawls/record.ts'
import { laneName, listOf } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { ClaimAnswer, ClaimRequest, LedgerGateName } from '../types.ts'

export async function claim(
  scripts: Scripts,
  { grantAheadMs, reserveMs }: VerbSettings,
  { agent, origin, paceLane, crawl }: ClaimRequest,
): Promise<ClaimAnswer> {
  const args = {
    ...{ lane: laneName(agent, origin), aheadMs: grantAheadMs, reserveMs },
    paceLane: paceLane === undefined ? '' : laneName(paceLane.agent, paceLane.origin),
    list: crawl === undefined ? '' : listOf('normal', crawl),
  }
  const { values } = await scripts.call('claim', args)
  const { answer, fence, notBefore, version } = CLAIMED.read(values)
  if (answer === 'claimed')
    return { kind: answer, fence: Number(fence), notBefore: Number(notBefore), version: Number(version) }
  if (answer === 'blocked') return { kind: answer }
  if (answer === 'crawl-held') return { kind: answer, record: readRecord(values[1] ?? '') }
  const { waitMs, gate } = CLAIM_WAIT.read(values)
  return { kind: 'wait', waitMs: Number(waitMs), gate: gate as LedgerGateName }
}
