/** Orders that get no slot, because a group that they count for has its share: they are given back, and come again later. */
import { Recent } from '@decorum/admission'
import type { Order } from '@decorum/protocol'
import type { Tools } from '../tools.ts'
import { release } from './release.ts'

const MOST_GROUPS = 10_000
/**
 * The first ones come again after a second. The more come, the later: with n lanes the fleet gives back about √n orders a second, each
 * of which costs as much as one that is carried out.
 */
const LEAST_MS = 1_000
const MS_FOR_EACH = 40
const MOST_MS = 60_000
/** In this time the number that came lately is halved. */
const HALF_MS = 10_000

export function openTurnAway(
  tools: Pick<Tools, 'ledger' | 'stats'>,
  now: () => number = () => performance.now(),
  random: () => number = Math.random,
): (order: Order, group: string) => void {
  const lately = new Recent<string, { count: number; at: number }>(MOST_GROUPS)
  return (order, group) => {
    const at = now()
    const before = lately.get(group)
    const count = 1 + (before === undefined ? 0 : before.count * 2 ** ((before.at - at) / HALF_MS))
    lately.set(group, { count, at })
    const waitMs = Math.min(MOST_MS, LEAST_MS + count * MS_FOR_EACH) * (0.5 + random() / 2)
    // No URL waits behind the order of a permit: its lane is as free as before for others.
    void release(order, tools, 'share', order.id === '' ? undefined : waitMs)
  }
}
