/** Ends orders without a request: their reservation is released, so that others can use the lane. */
import type { Agents } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { type Gate, type Order, outcomeOf, type UnreadableOrder } from '@decorum/protocol'
import { releaseOrder } from '@decorum/sending'
import type { Tools } from '../tools.ts'

const GATE_OF: Partial<Record<Parameters<typeof release>[2], Gate>> = {
  'unknown-agent': 'unknown-agent',
  stopped: 'stopped',
  egress: 'egress',
  share: 'share',
}

/** Releases a reservation that this process will not start: immediately, or deferred by `waitMs`. Never rejects. */
export async function release(
  order: Order,
  { ledger, stats }: Pick<Tools, 'ledger' | 'stats'>,
  why: 'stopping' | 'stopped' | 'paced' | 'too-early' | 'expired' | 'unknown-agent' | 'egress' | 'share',
  waitMs?: number,
): Promise<void> {
  stats.refused(why)
  const gate = GATE_OF[why] ?? 'pace-group'
  await releaseOrder(ledger, order, waitMs === undefined ? undefined : { waitMs, why: gate })
}

/**
 * Ends the candidate of an unreadable order: its lane would only send the same order again. Never rejects: when the ledger does not
 * answer, the reservation expires and the order is sent again.
 */
export async function endUnreadable(
  { agent, origin, fence, id, path, attempt, crawl, meta }: UnreadableOrder,
  why: string,
  { ledger, agents }: { ledger: Pick<Ledger, 'resolve' | 'partitionOf' | 'now'>; agents: Agents },
): Promise<void> {
  const partition = ledger.partitionOf(origin)
  const about = {
    id,
    url: origin + path,
    agent: agents.find(agent)?.name ?? agent,
    at: Math.round(ledger.now(partition)),
    attempts: attempt - 1,
    crawl,
    meta,
  }
  const outcome = outcomeOf(about, { kind: 'invalid', reason: 'unreadable-order', detail: why.slice(0, 512) })
  await ledger
    .resolve(partition, [{ agent, origin, fence, dropped: [outcome], next: { kind: 'release' } }])
    .catch(() => {})
}
