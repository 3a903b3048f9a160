/** extend: extends the leases of a permit. */
import { EXTENDED } from '../calls.ts'
import type { Scripts } from '../scripts.ts'
import type { ExtendAnswer, LeasedLane, LedgerGateName } from '../types.ts'
import { leasedItems } from './confirm.ts'

/**
 * @param held     the lanes of one partition that the permit holds
 * @param leaseMs  from now; 0: nothing changes, and only the remaining time is returned
 */
export async function extend(scripts: Scripts, held: LeasedLane[], leaseMs: number): Promise<ExtendAnswer> {
  const { values } = await scripts.call('extend', { leaseMs }, held.flatMap(leasedItems))
  const { answer, gate, leftMs } = EXTENDED.read(values)
  if (answer !== 'extended') return { kind: 'stale' }
  return { kind: answer, leftMs: Number(leftMs), ...(gate === '' ? {} : { stop: gate as LedgerGateName }) }
}
