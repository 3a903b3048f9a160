/** extend: the leases of a permit last longer. */
import { EXTEND_ITEM, EXTENDED } from '../calls.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { ExtendAnswer, ExtendedStop, LeasedLane } from '../types.ts'

/** @param held  the lanes of one partition that the permit holds */
export async function extend(scripts: Scripts, held: LeasedLane[], leaseMs: number): Promise<ExtendAnswer> {
  const items = held.flatMap(({ agent, origin, fence }) => EXTEND_ITEM.write({ lane: laneName(agent, origin), fence }))
  const { values } = await scripts.call('extend', { leaseMs }, items)
  const { answer, gate } = EXTENDED.read(values)
  if (answer !== 'extended') return { kind: 'stale' }
  return gate === '' ? { kind: answer } : { kind: answer, stop: gate as ExtendedStop }
}
