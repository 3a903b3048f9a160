/** Orders that get no slot, because a group that they count for has its share: they are given back, and come again later. */
import { Recent } from '@decorum/politeness/admission'
import type { Order } from '@decorum/protocol'
import type { Tools } from '../tools.ts'
import { askerOf } from './groups.ts'
import { release } from './release.ts'

const MOST_ASKERS = 10_000
/**
 * The first ones come again after a second. The more of the same asker come, whichever of its groups they are turned away for, the later:
 * each costs as much as an order that is carried out. With n lanes a fetcher gives back about √(n / 2) orders a second, and never more
 * than n / 225.
 */
const LEAST_MS = 1_000
const MS_FOR_EACH = 200
const MOST_MS = 300_000
/** In this time the number that came lately is halved. */
const HALF_MS = 10_000

export function openTurnAway(tools: Pick<Tools, 'ledger' | 'stats'>): (order: Order) => void {
  const { clock } = tools.ledger
  const lately = new Recent<string, { count: number; at: number }>(MOST_ASKERS)
  return (order) => {
    const asker = askerOf(order)
    const at = clock.monotonic()
    const before = lately.get(asker)
    const count = 1 + (before === undefined ? 0 : before.count * 2 ** ((before.at - at) / HALF_MS))
    lately.set(asker, { count, at })
    const waitMs = Math.min(MOST_MS, LEAST_MS + count * MS_FOR_EACH) * (0.5 + clock.random() / 2)
    // No URL waits behind the order of a permit: its lane is as free as before for others.
    void release(order, tools, 'share', order.id === '' ? undefined : waitMs)
  }
}
