/** `decorum ledger partitions` for a test, on a connection of its own. */

import { connectLink, linkTo } from '@decorum/ledger'
import { type Repartitioned, repartition } from '@decorum/ledger/move'
import { systemClock } from '@decorum/protocol'
import type { Redis } from 'ioredis'

/** @param most  commands after which the connection is cut: it then rejects */
export async function changeTo(
  url: string,
  to: number,
  times: { leaseMs: number; quarantineMs: number },
  most = Infinity,
): Promise<Repartitioned> {
  const link = linkTo(url, { away: 'fail', lazyConnect: true }) as Redis
  link.on('error', () => undefined)
  await connectLink(link, { clock: systemClock, ms: 1_000 })
  const send = link.sendCommand.bind(link)
  let sent = 0
  link.sendCommand = (command, stream) => {
    if (++sent > most) link.disconnect()
    return send(command, stream)
  }
  return repartition({ redis: link, to, ...times }).finally(() => link.disconnect())
}
