/** grant: the leases of permits. */
import { GRANT_ITEM, GRANT_WAIT, GRANTED } from '../calls.ts'
import { readRecord } from '../crawls/record.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'
import type { GrantAnswer, GrantRequest, LedgerGateName } from '../types.ts'

export async function grant(
  scripts: Scripts,
  { grantAheadMs }: VerbSettings,
  requests: GrantRequest[],
): Promise<GrantAnswer[]> {
  const items = requests.flatMap(({ agent, origin, paceLane, version, delayMs, leaseMs, by, crawl }) =>
    GRANT_ITEM.write({
      lane: laneName(agent, origin),
      paceLane: paceLane === undefined ? '' : laneName(paceLane.agent, paceLane.origin),
      ...{ version, delayMs, leaseMs },
      requester: laneName(crawl === undefined ? by.agent : `${by.agent}@${crawl}`, by.origin),
    }),
  )
  const { values } = await scripts.call('grant', { aheadMs: grantAheadMs }, items)
  return values.map((text) => readAnswer(text.split('|')))
}

function readAnswer(parts: string[]): GrantAnswer {
  if (parts[0] === 'crawl-held') return { kind: 'crawl-held', record: readRecord(parts.slice(1).join('|')) }
  const { answer, waitMs, fence, delayMs, paceFence, paceDelayMs } = GRANTED.read(parts)
  if (answer === 'granted') {
    const paceLane = paceFence === '' ? {} : { paceLane: { fence: Number(paceFence), delayMs: Number(paceDelayMs) } }
    return { kind: answer, waitMs: Number(waitMs), fence: Number(fence), delayMs: Number(delayMs), ...paceLane }
  }
  if (answer === 'wait') {
    const { gate, holder } = GRANT_WAIT.read(parts)
    const held = holder === '' ? {} : { holder: holder as 'url' | 'permit' }
    return { kind: answer, waitMs: Number(waitMs), gate: gate as LedgerGateName, ...held }
  }
  return { kind: answer as 'blocked' | 'rules-changed' | 'refetch' }
}
