/** Dependencies and checks that all operations of the service share. */

import { lookup } from 'node:dns/promises'
import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { Recent } from '@decorum/politeness/admission'
import { hostOf } from '@decorum/protocol'
import { passed, type Since, type Traces } from '@decorum/runtime'
import { endUnused } from '@decorum/sending'
import { agentOf, grantingTools, mayBe, Problem, type RobotsOrders, type Token } from '@decorum/sending/granting'
import type { PermitsConfig } from './config.ts'
import { leasesOf } from './end.ts'
import type { Pages } from './pages.ts'
import type { GrantedLeases, Permit, PermitIds } from './permit-id.ts'
import type { Ended } from './schemas.ts'

/** An answer of the ledger (rules, pauses, stops, fence) is relied on for this long, as in the fleet's fetchers. */
const SEND_WITHIN_MS = 1_000
/** The ledger's lease is longer than the permit by this, or by a tenth of LEASE_MS if that is less: time for the completion to arrive. */
const MARGIN_MS = 5_000
/** Ended permits remembered, so that a second completion is not treated as a late one: at most this number, at least half of it. */
const MOST_ENDED = 40_000

export type DeskOptions = {
  config: PermitsConfig
  ledger: Ledger
  ids: PermitIds
  robots: RobotsOrders
  /** number of fetchers that have announced themselves */
  fetchers: () => number
  pages: Pages
  traces: Traces
  /** resolves a host name; default: this machine's resolver */
  lookup?: (host: string) => Promise<{ address: string }[]>
}

export type Desk = ReturnType<typeof openDesk>

export function openDesk(options: DeskOptions) {
  const { config, ledger, ids, lookup: addressesOf = (host) => lookup(host, { all: true }) } = options
  const marginMs = Math.min(MARGIN_MS, config.LEASE_MS / 10)
  const ended = new Recent<string, Ended>(MOST_ENDED)
  /** An address of the host, to check stops: the crawler may use any of several, so a stopped address is returned if there is one. */
  const addressOf = async (origin: string): Promise<string | undefined> => {
    const all = await addressesOf(hostOf(origin).replace(/^\[|\]$/g, '')).catch(() => [])
    return (all.find(({ address }) => ledger.stops.why(origin, address) !== undefined) ?? all[0])?.address
  }
  return {
    ...options,
    ...grantingTools({ ...options, addressOf: (_agent, origin) => addressOf(origin) }),
    marginMs,

    /** lifetime of a permit until it is extended, ms */
    get longestLeaseMs(): number {
      return Math.floor(Math.min(config.LEASE_MS - marginMs, config.PERMIT_MAX_MS))
    },

    /** @throws Problem */
    agentOf: (name: string | undefined, token: Token): Agent => agentOf(name, token, config.agents),

    /** @throws Problem: a permit of another holder is treated as unknown */
    async read(id: string, token: Token): Promise<Permit> {
      const permit = await ids.read(id)
      if (permit === undefined || permit.holder !== token.name || !mayBe(token, permit.agent))
        throw new Problem('not-found', 'this fleet has not given this permit to this holder')
      return permit
    },

    /** Checks stopped addresses: the ledger checks stopped hosts, but resolves no names. */
    async stopAt({ origin }: { origin: string }): Promise<'stopped' | undefined> {
      const { stops } = ledger
      if (!stops.hasAddresses()) return undefined
      return stops.why(origin, await addressOf(origin)) === undefined ? undefined : 'stopped'
    },

    /** Redis's clock, ms since 1970, to compare with a date from a site */
    wall: (): number => ledger.wall(),

    /**
     * Whether the ledger's answer came too long ago (it was late, or this process was frozen). The holder's lease runs from our answer, the
     * ledger's from its own: after more than the margin, the holder would rely on a lease that has ended. Some time to send must remain.
     */
    isTooLate: (since: Since): boolean => passed(ledger.clock, since) > Math.min(marginMs, SEND_WITHIN_MS - 1),

    /** How long after our answer the holder may send, whole ms: the rest of the time for which the ledger's answer is relied on. */
    sendWithinMs: (since: Since, leaseMs: number): number =>
      Math.max(0, Math.min(Math.floor(SEND_WITHIN_MS - passed(ledger.clock, since)), leaseMs)),

    /** Releases leases that reached no holder, so that nothing was sent under them. If Redis does not answer, they expire. */
    async giveBack(permit: GrantedLeases): Promise<void> {
      await endUnused(ledger, leasesOf(permit)).catch(() => undefined)
    },

    endOf: (id: string): Ended | undefined => ended.get(id),

    note: (id: string, how: Ended): void => ended.set(id, how),

    gone(id: string): Problem {
      const how = ended.get(id)
      return new Problem(
        'gone',
        how === undefined ? 'its lease is over' : `it was ${how === 'unused' ? 'given back' : how} before`,
      )
    },
  }
}

export const tooLate = (): Problem =>
  new Problem('ledger-away', 'Redis answered too late: ask again', { retryAfterMs: 1_000 })
