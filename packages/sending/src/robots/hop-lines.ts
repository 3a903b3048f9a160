/**
 * Redirects of robots files that wait for the same host, in this process. Whoever runs many hosts can send all of their robots fetches to
 * one host, which has URLs of its own: the hops to it come one at a time, each well apart from the one before, and only a few wait. The
 * other robots fetches end as unanswered, and are made again later.
 */
import { type Ledger, LedgerUnavailableError } from '@decorum/ledger'
import { type Clock, domainOf, hostOf } from '@decorum/protocol'

/** Hops that wait for one host, and for all hosts: those from hosts of the same registrable domain, and as many from all others. */
const MOST_WAITING = 4
const MOST_WAITING_IN_ALL = 25
/**
 * The fleet makes the next hop to a host after this many of its delays: from hosts of the same registrable domain, and from all others.
 * So nearly all turns there are left to its own URLs, whoever else redirects to it.
 */
const DELAYS_APART = { own: 4, others: 16 }

/** A ledger that does not answer is asked again after this. */
const AGAIN_MS = 250

type Hop = {
  /** that asked first, and that it leads to */
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
     * @param isLate   whether a wait of so many ms is longer than the hop has
     * @param wait     waits so
     * @returns 'late' when its turn would not come in time, or too many wait already
     * @throws  what the hop throws
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
            // Its lane may owe more than an agent's least delay. Where that is not heard, the next hop comes early by that much at most.
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
