/** A connection whose commands a test sees on their way. */
import { connectLink, linkTo } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import type { Redis } from 'ioredis'

/** Sees each command before it is sent: how many there were with this one, and its arguments. It is sent after the wait that is returned. */
export type OnTheWay = (sent: number, args: string, link: Redis) => Promise<unknown> | undefined

export async function watchedLink(url: string, onTheWay: OnTheWay): Promise<Redis> {
  const link = linkTo(url, { away: 'fail', lazyConnect: true }) as Redis
  link.on('error', () => undefined)
  await connectLink(link, { clock: systemClock, ms: 1_000 })
  const send = link.sendCommand.bind(link)
  let sent = 0
  link.sendCommand = (command, stream) => {
    const wait = onTheWay(++sent, command.args.join(' '), link)
    return wait === undefined ? send(command, stream) : wait.then(() => send(command, stream))
  }
  return link
}

/** Cuts the connection after so many commands. */
export const cutAfter =
  (most: number): OnTheWay =>
  (sent, _args, link) => {
    if (sent > most) link.disconnect()
    return undefined
  }
