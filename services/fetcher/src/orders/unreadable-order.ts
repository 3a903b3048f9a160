/** ④ An order that cannot be read ends its candidate: its lane would hand it out again, and it could be read no better then. */

import type { Agents } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import type { Outcome, UnreadableOrder } from '@decorum/protocol'

/** Nothing is sent. Never rejects: while the ledger does not answer, the reservation ends by itself and the order comes again. */
export async function endUnreadable(
  { agent, origin, fence, id, path, attempt, meta }: UnreadableOrder,
  why: string,
  { ledger, agents }: { ledger: Pick<Ledger, 'resolve' | 'partitionOf' | 'now'>; agents: Agents },
): Promise<void> {
  const partition = ledger.partitionOf(origin)
  const outcome: Outcome = {
    id,
    url: origin + path,
    agent: agents.find(agent)?.name ?? agent,
    kind: 'invalid',
    reason: 'unreadable-order',
    detail: why.slice(0, 512),
    at: Math.round(ledger.now(partition)),
    attempts: attempt - 1,
    ...(meta === undefined ? {} : { meta }),
  }
  await ledger
    .resolve(partition, [{ agent, origin, fence, dropped: [outcome], next: { kind: 'release' } }])
    .catch(() => {})
}
