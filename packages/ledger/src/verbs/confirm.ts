/** confirm: may a request that took long to connect still be sent? */
import { CONFIRM_ITEM } from '../calls.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { Confirmation, HeldLane } from '../types.ts'

/** @param held  the lanes of one partition that the request holds */
export async function confirm(scripts: Scripts, held: HeldLane[]): Promise<Confirmation> {
  const items = held.flatMap(({ agent, origin, fence, version }) =>
    CONFIRM_ITEM.write({ lane: laneName(agent, origin), fence, version: version ?? '' }),
  )
  const { values } = await scripts.call('confirm', {}, items)
  return values[0] as Confirmation
}
