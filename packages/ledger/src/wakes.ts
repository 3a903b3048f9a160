/**
 * Follows wake-ups on a separate connection. A process that only listens does not notice when the network has dropped the connection, so it
 * subscribes again at intervals; when no answer comes, it makes another connection.
 */
import type { Deadline } from '@decorum/protocol'
import type { RedisLink } from './link.ts'
import { withDeadline } from './scripts.ts'

const LISTEN_AGAIN_MS = 5_000
const TROUBLE_MS = 500

export type Wakes = {
  /** resolves when the first subscription has succeeded or failed, so that a node that hangs is not waited for */
  tried: Promise<void>
  close(): void
}

/**
 * @param open      makes a connection that reconnects automatically
 * @param listener  called with the channel of each wake-up
 */
export function followWakes(
  open: () => RedisLink,
  channels: readonly string[],
  listener: (channel: string) => void,
  { deadline, againMs = LISTEN_AGAIN_MS }: { deadline: Deadline; againMs?: number },
): Wakes {
  const closing = new AbortController()
  const tried = Promise.withResolvers<void>()
  const opened = (): RedisLink => {
    const own = open()
    return own
      .on('error', () => {})
      .on('message', listener)
      .on('ready', () => void own.subscribe(...channels).catch(() => {})) // after each reconnect; `listen` checks whether it worked
  }
  let link = opened()
  const listen = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const isSubscribed = await withDeadline(link.subscribe(...channels), deadline, 'subscribe').then(
        () => true,
        () => false,
      )
      tried.resolve()
      if (closing.signal.aborted) return
      if (!isSubscribed) {
        link.disconnect()
        link = opened()
      }
      await deadline.clock.sleep(isSubscribed ? againMs : TROUBLE_MS, { ref: false, signal: closing.signal })
    }
  }
  void listen()
  return {
    tried: tried.promise,
    close() {
      closing.abort()
      link.disconnect()
    },
  }
}
