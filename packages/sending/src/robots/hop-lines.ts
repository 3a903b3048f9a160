/**
 * Redirects of robots files that wait for the same host, in this process. Whoever runs many hosts can send all of their robots fetches to
 * one host, which has URLs of its own: the hops to it come one at a time, each well apart from the one before, and only a few wait. The
 * other robots fetches end as unanswered, and are made again later.
 */
import { pause } from '@decorum/runtime'

/** Hops that wait for one host, and for all hosts. */
const MOST_WAITING = 4
const MOST_WAITING_IN_ALL = 25
/** The next hop to a host is made after this many of its delays: so the others have three of four turns there. */
const DELAYS_APART = 4
/** Hosts that had a hop lately; further ones are not spaced. */
const MOST_HOSTS = 10_000

type Hop = {
  host: string
  delayMs: number
  isLate: (waitMs: number) => boolean
  wait: <T>(work: () => Promise<T>) => Promise<T>
}

export type HopLines = ReturnType<typeof hopLines>

export function hopLines(now: () => number = () => performance.now()) {
  const lines = new Map<string, { waiting: number; nextAt: number; last: Promise<void> }>()
  let waiting = 0

  const forget = (): void => {
    const at = now()
    for (const [host, line] of lines) if (line.waiting === 0 && line.nextAt <= at) lines.delete(host)
  }
  return {
    /**
     * Waits for the turn of this hop, and makes it.
     * @param delayMs  the delay of its lane
     * @param isLate   whether a wait of so many ms is longer than the hop has
     * @param wait     waits so
     * @returns 'late' when its turn would not come in time, or too many wait already
     */
    async inTurn<T>({ host, delayMs, isLate, wait }: Hop, hop: () => Promise<T>): Promise<T | 'late'> {
      if (lines.size >= MOST_HOSTS) forget()
      const line = lines.get(host) ?? { waiting: 0, nextAt: 0, last: Promise.resolve() }
      const apartMs = DELAYS_APART * delayMs
      const waitMs = Math.max(0, line.nextAt - now()) + line.waiting * apartMs
      if (line.waiting >= MOST_WAITING || waiting >= MOST_WAITING_IN_ALL || isLate(waitMs)) return 'late'
      lines.set(host, line)
      const before = line.last
      const { promise, resolve: done } = Promise.withResolvers<void>()
      line.last = promise
      line.waiting++
      waiting++
      try {
        if (line.waiting > 1) await wait(() => before)
        const leftMs = line.nextAt - now()
        if (isLate(leftMs)) return 'late'
        if (leftMs > 0) await wait(() => pause(leftMs))
        const answer = await hop()
        line.nextAt = now() + apartMs
        return answer
      } finally {
        line.waiting--
        waiting--
        done()
      }
    },
  }
}
