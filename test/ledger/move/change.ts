/** `decorum ledger partitions` for a test, on a connection of its own. */

import { type Repartitioned, repartition } from '@decorum/ledger/move'
import { cutAfter, watchedLink } from '../watched-link.ts'

/** @param most  commands after which the connection is cut: it then rejects */
export async function changeTo(
  url: string,
  to: number,
  times: { leaseMs: number; quarantineMs: number },
  most = Infinity,
): Promise<Repartitioned> {
  const link = await watchedLink(url, cutAfter(most))
  return repartition({ redis: link, to, ...times }).finally(() => link.disconnect())
}
