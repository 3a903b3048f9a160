/** Counts of requests: for Prometheus, by site for `decorum guard`, and by client for the fleet's operators. */

import type { Passing } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol'
import { defined, gaugeOf } from '@decorum/runtime'
import { Counter, type Registry } from '@decorum/runtime/prometheus'
import type { Wish } from '@decorum/sending/granting'

/** requests: received · held: those of them that waited · sent: to the site · refused: by the proxy · robots: answered from the stored copy */
export type Counts = {
  requests: number
  held: number
  heldMs: number
  sent: number
  refused: number
  robots: number
  tunnels: number
}

/** Most sites, and clients, counted separately; further ones are counted together. */
const MOST_SITES = 1_000
const MOST_CLIENTS = 100
/** Most clients that a process announces to the fleet, whose roll is read once a second. */
const MOST_ANNOUNCED = 5
export const OTHERS = 'others'

/** The client, and the target; the rest of a wish is not used. */
type CountedBy = Pick<Wish, 'origin'> & Partial<Pick<Wish, 'agent' | 'by' | 'crawl'>>

export type Tally = ReturnType<typeof openTally>

const none = (): Counts => ({ requests: 0, held: 0, heldMs: 0, sent: 0, refused: 0, robots: 0, tunnels: 0 })

export function openTally(registry: Registry, waiting: () => number) {
  const sites = new Map<string, Counts>()
  const all = none()
  /** number of refused requests by kind, without the sentence */
  const refusals = new Map<string, number>()
  const ends = new Counter({
    name: 'decorum_proxy_requests_total',
    help: 'Requests by what became of them: sent, tunnel, robots (answered from the stored copy), gone, failed, or why they were refused',
    labelNames: ['kind'],
    registers: [registry],
  })
  let underWay = 0
  gaugeOf(registry, 'decorum_proxy_waiting', 'Requests that wait in line', waiting)
  gaugeOf(registry, 'decorum_proxy_under_way', 'Requests and tunnels under way', () => underWay)
  const clients = new Map<string, Passing>()
  const siteOf = (origin: string): Counts => {
    const name = sites.has(origin) || sites.size < MOST_SITES ? origin : OTHERS
    const counts = sites.get(name) ?? none()
    sites.set(name, counts)
    return counts
  }
  const clientOf = ({ agent, by, crawl }: CountedBy): Passing | undefined => {
    if (agent === undefined) return undefined
    const name = `${agent.name} ${crawl ?? ''} ${by?.name ?? ''}`
    const known = clients.get(name)
    if (known !== undefined) return known
    const isRoom = clients.size < MOST_CLIENTS
    const counts = (isRoom ? undefined : clients.get(OTHERS)) ?? {
      agent: isRoom ? agent.name : OTHERS,
      ...(isRoom && defined({ crawl, token: by?.name || undefined })),
      waiting: 0,
      sent: 0,
      refused: 0,
    }
    clients.set(isRoom ? name : OTHERS, counts)
    return counts
  }
  const add = (origin: string, part: Partial<Counts>): void => {
    for (const counts of [all, siteOf(origin)])
      for (const [name, more] of Object.entries(part)) counts[name as keyof Counts] += more
  }
  return {
    came: ({ origin }: CountedBy): void => add(origin, { requests: 1 }),
    /** @returns a function that ends the wait. Waits of less than 5 ms are not counted */
    waits(whose: CountedBy, clock: Clock): () => void {
      const begun = clock.monotonic()
      const client = clientOf(whose)
      if (client !== undefined) client.waiting++
      return () => {
        if (client !== undefined) client.waiting--
        const ms = clock.monotonic() - begun
        if (ms >= 5) add(whose.origin, { held: 1, heldMs: Math.round(ms) })
      }
    },
    sent(whose: CountedBy, kind: 'sent' | 'tunnel'): void {
      add(whose.origin, { sent: 1, ...(kind === 'tunnel' && { tunnels: 1 }) })
      const client = clientOf(whose)
      if (client !== undefined) client.sent++
      ends.inc({ kind })
    },
    refused(whose: CountedBy | undefined, kind: string): void {
      if (whose === undefined) {
        all.requests++ // its target could not be read, so it was not counted when it came
        all.refused++
      } else {
        add(whose.origin, { refused: 1 })
        const client = clientOf(whose)
        if (client !== undefined) client.refused++
      }
      refusals.set(kind, (refusals.get(kind) ?? 0) + 1)
      ends.inc({ kind })
    },
    robots(whose: CountedBy): void {
      add(whose.origin, { robots: 1 })
      ends.inc({ kind: 'robots' })
    },
    /** gone: the client left before its request was sent; failed: the request was sent, and not answered */
    ended: (kind: 'gone' | 'failed'): void => ends.inc({ kind }),
    begins: (): void => void underWay++,
    ends: (): void => void underWay--,
    now: () => ({
      all,
      refusals: Object.fromEntries(refusals),
      sites: Object.fromEntries(sites),
      clients: [...clients.values()],
    }),
    /** the clients with most requests */
    most: (): Passing[] => [...clients.values()].toSorted((a, b) => weightOf(b) - weightOf(a)).slice(0, MOST_ANNOUNCED),
  }
}

const weightOf = ({ waiting, sent, refused }: Passing): number => waiting + sent + refused
