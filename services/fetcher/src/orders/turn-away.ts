/** Orders that get no slot, because one of their groups has its share: they are returned, and sent again later. */
import { Recent } from '@decorum/politeness/admission'
import type { Order } from '@decorum/protocol'
import type { Tools } from '../tools.ts'
import { requesterOf } from './groups.ts'
import { release } from './release.ts'

const MOST_REQUESTERS = 10_000
/**
 * The first orders of a requester are sent again after about a second. The more of its orders are turned away, for any of its groups, the
 * longer they wait: each costs as much as an order that is carried out. With n lanes a fetcher returns about √(n / 2) orders a second,
 * and never more than n / 225.
 */
const LEAST_MS = 1_000
const MS_FOR_EACH = 200
const MOST_MS = 300_000
/** Half-life of the count of recent orders. */
const HALF_MS = 10_000

export function openTurnAway(tools: Pick<Tools, 'ledger' | 'stats'>): (order: Order) => void {
  const { clock } = tools.ledger
  const lately = new Recent<string, { count: number; at: number }>(MOST_REQUESTERS)
  return (order) => {
    const requester = requesterOf(order)
    const at = clock.monotonic()
    const before = lately.get(requester)
    const count = 1 + (before === undefined ? 0 : before.count * 2 ** ((before.at - at) / HALF_MS))
    lately.set(requester, { count, at })
    const waitMs = Math.min(MOST_MS, LEAST_MS + count * MS_FOR_EACH) * (0.5 + clock.random() / 2)
    // No URL waits behind the order of a permit, so its lane is free for others at once.
    void release(order, tools, 'share', order.id === '' ? undefined : waitMs)
  }
}
