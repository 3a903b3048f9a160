/** extend: extends the leases of a permit, or of an order of a pool. */
import { EXTENDED } from '../calls.ts'
import type { Scripts } from '../scripts.ts'
import type { ExtendAnswer, LeasedLane, LedgerGateName } from '../types.ts'
import { leasedItems } from './confirm.ts'

/**
 * @param held     the lanes of one partition that the permit or the order holds
 * @param leaseMs  new remaining time of the leases; 0: it stays unchanged, and is only returned
 */
export async function extend(scripts: Scripts, held: LeasedLane[], leaseMs: number): Promise<ExtendAnswer> {
  const { values } = await scripts.call('extend', { leaseMs }, held.flatMap(leasedItems))
  const { answer, gate, leftMs } = EXTENDED.read(values)
  if (answer !== 'extended') return { kind: 'stale' }
  return { kind: answer, leftMs: Number(leftMs), ...(gate === '' ? {} : { stop: gate as LedgerGateName }) }
}
