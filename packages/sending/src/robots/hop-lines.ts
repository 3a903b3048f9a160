/**
 * Redirects of robots files that wait for the same host, in this process. An owner of many hosts can point all of their robots fetches at
 * one host, which has URLs of its own. So the hops to it are spaced well apart, and only a few may wait. The other robots fetches end as
 * unanswered, and are repeated later.
 */
import { type Ledger, LedgerUnavailableError } from '@decorum/ledger'
import { type Clock, domainOf, hostOf } from '@decorum/protocol'

/** Most hops that wait for one host, and for all hosts. Hops from the host's own registrable domain are counted apart from all others. */
const MOST_WAITING = 4
const MOST_WAITING_IN_ALL = 25
/**
 * The fleet makes the next hop to a host after this many of its delays: from hosts of the same registrable domain, and from all others.
 * So nearly all turns there are left to the host's own URLs, whoever else redirects to it.
 */
const DELAYS_APART = { own: 4, others: 16 }

/** A ledger that does not answer is called again after this time. */
const AGAIN_MS = 250

type Hop = {
  /** the origin of the first request, and the target */
  from: string
  origin: string
  delayMs: number
  isLate: (waitMs: number) => boolean
  wait: <T>(work: () => Promise<T>) => Promise<T>
}

export type HopLines = ReturnType<typeof hopLines>

export function hopLines(clock: Clock, { hopTurn, keepHopTurn }: Pick<Ledger, 'hopTurn' | 'keepHopTurn'>) {
  const lines = new Map<string, { waiting: number; last: Promise<void> }>()
  const waiting = { own: 0, others: 0 }

  return {
    /**
     * Waits for the turn of this hop, and makes it.
     * @param delayMs  the least delay of its lane
     * @param isLate   whether a wait of this many ms exceeds the time of the hop
     * @param wait     awaits `work` without a fetch slot
     * @returns 'late' when its turn would not come in time, or the line is full
     * @throws  errors of the hop
     */
    async inTurn<T extends string | { delayMs: number }>(
      { from, origin, delayMs, isLate, wait }: Hop,
      hop: () => Promise<T>,
    ): Promise<T | 'late'> {
      const whose = domainOf(from) === domainOf(origin) ? 'own' : 'others'
      const name = `${hostOf(origin)} ${whose}`
      const line = lines.get(name) ?? { waiting: 0, last: Promise.resolve() }
      const apartMs = DELAYS_APART[whose] * delayMs
      if (line.waiting >= MOST_WAITING || waiting[whose] >= MOST_WAITING_IN_ALL || isLate(line.waiting * apartMs))
        return 'late'
      lines.set(name, line)
      const before = line.last
      const { promise, resolve: done } = Promise.withResolvers<void>()
      line.last = promise
      line.waiting++
      waiting[whose]++
      try {
        if (line.waiting > 1) await wait(() => before)
        for (;;) {
          const waitMs = apartMs > 0 ? await hopTurn(origin, whose, apartMs).catch(whenAnswers) : 0
          if (waitMs === 0) {
            const made = await hop()
            // The lane may owe more than the agent's minimum delay. If the ledger does not get that, the next hop comes early by at most
            // the difference.
            const longerMs = typeof made === 'string' ? 0 : DELAYS_APART[whose] * made.delayMs
            if (longerMs > apartMs) void keepHopTurn(origin, whose, longerMs).catch(() => undefined)
            return made
          }
          if (isLate(waitMs)) return 'late'
          await wait(() => clock.sleep(waitMs))
        }
      } finally {
        if (--line.waiting === 0) lines.delete(name)
        waiting[whose]--
        done()
      }
    },
  }
}

function whenAnswers(error: unknown): number {
  if (error instanceof LedgerUnavailableError) return AGAIN_MS
  throw error
}
