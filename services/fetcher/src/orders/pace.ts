/**
 * The pace groups of a lane: acquired before a request, completed after it. When one of them is not free, the others are
 * released, and the request tries again when the ledger says that its turn may come.
 */
import type { Agent } from '@decorum/config'
import type { LaneRef, LeasedLane } from '@decorum/ledger'
import type { PaceGroups } from '@decorum/politeness'
import { crashPoint, type Since, sinceNow } from '@decorum/runtime'
import type { LastCheck } from '../http/exchange.ts'
import {
  acquireAll,
  completeAll,
  type End,
  type HostLease,
  type LeasesLedger,
  leasedLanes,
  type NotAcquired,
  releaseAll,
  type SecondaryLease,
  type Wanted,
} from './secondary-leases.ts'

export type Pace = {
  /** no request holds a group beside its host's */
  readonly hostsAlone: boolean
  /** At once where nothing has to be asked for. @param delayMs  what the request owes its own lane */
  acquire(agent: Agent, origin: string, delayMs: number): Acquired | Promise<Acquired>
}
type Acquired = HeldGroups | NotAcquired

export type PaceOptions = {
  ledger: LeasesLedger
  groups: PaceGroups
  /** the address that the next request to the origin will go to; undefined when the name has none */
  addressOf: (agent: Agent, origin: string) => Promise<string | undefined>
}

export function openPace(options: PaceOptions): Pace {
  return {
    get hostsAlone() {
      return options.groups.hostsAlone
    },
    acquire(agent, origin, delayMs) {
      const request = { options, agent, origin, delayMs }
      if (options.groups.hostsAlone) return new HeldGroups(request, undefined, [], noAddress) // nothing is awaited: each page comes here
      return acquireGroups(request)
    },
  }
}

/** The request that pace groups are held for. */
export type PacedRequest = { options: PaceOptions; agent: Agent; origin: string; delayMs: number }

async function acquireGroups(request: PacedRequest): Promise<Acquired> {
  const { options, agent, origin, delayMs } = request
  const { wanted, wrongAddress } = await groupsOf(options, agent, origin, delayMs)
  const since = sinceNow()
  const leases = await acquireAll(options.ledger, wanted, { agent: agent.key, origin })
  return 'waitMs' in leases ? leases : new HeldGroups(request, since, leases, wrongAddress)
}

/** The groups that a request to this origin has to hold, apart from its host's, and the check of the address that they are of. */
export async function groupsOf(
  { groups, addressOf }: PaceOptions,
  agent: Agent,
  origin: string,
  delayMs: number,
): Promise<{ wanted: Wanted[]; wrongAddress: LastCheck }> {
  if (groups.hostsAlone) return { wanted: [], wrongAddress: noAddress }
  const address = groups.needsAddress ? await addressOf(agent, origin) : undefined
  const of = { agent: agent.key, origin }
  const wanted = groups.above(agent.key, origin, address).map((group): Wanted => {
    const owed = group.delayMs === undefined ? { delayMs, of } : { delayMs: group.delayMs }
    return { lanes: group.lanes, kind: 'pace-group', ofSite: false, ...owed }
  })
  if (!groups.needsAddress) return { wanted, wrongAddress: noAddress }
  // A name is looked up again when a connection is made, and may lead to another address by then.
  const isHeld = (at: string | undefined): boolean => withoutPrefix(at) === withoutPrefix(address)
  return { wanted, wrongAddress: (at) => (isHeld(at) ? undefined : `the pace group of ${at} is not held`) }
}

const noAddress: LastCheck = () => undefined
const withoutPrefix = (address: string | undefined): string | undefined => address?.replace(/^::ffff:/i, '')

/** The pace groups that one request holds. */
export class HeldGroups {
  /** the host's lane, when it is another one: started together with the lane of the request, and told by `started` */
  readonly hostLane: LaneRef | undefined
  readonly request: PacedRequest
  /** when the first of these leases was asked for: a process that was frozen since then may hold none of them any more */
  readonly since: Since | undefined
  /** why nothing may be sent to an address: it is not the one whose pace group is held */
  readonly wrongAddress: LastCheck
  /** the longest delay that a hop owed to a lane of this request, ms: the request owes it, too */
  owedByHopsMs = 0
  #leases: readonly SecondaryLease[]

  constructor(
    request: PacedRequest,
    since: Since | undefined,
    leases: readonly SecondaryLease[],
    wrongAddress: LastCheck,
  ) {
    const { options, agent, origin } = request
    this.request = request
    this.since = since
    this.#leases = leases
    this.wrongAddress = wrongAddress
    this.hostLane = options.groups.hostLane(agent.key, origin)
  }

  started(hostLease: HostLease | undefined): void {
    if (hostLease === undefined || this.hostLane === undefined) return
    this.#leases = [...this.#leases, { ...this.hostLane, ...hostLease, ofSite: true }]
  }

  held(): LeasedLane[] {
    return leasedLanes(this.#leases)
  }

  /** The delay between two requests under these leases, ms. */
  delayMs(): number {
    return Math.max(this.request.delayMs, this.owedByHopsMs, ...this.#leases.map((lease) => lease.delayMs))
  }

  /** The fence under which a lane is held here. @param ownFence  of the request's own lane */
  fenceOf({ agent, origin }: LaneRef, ownFence: number): number | undefined {
    const { request } = this
    if (agent === request.agent.key && origin === request.origin) return ownFence
    return this.#leases.find((lease) => lease.agent === agent && lease.origin === origin)?.fence
  }

  /** The exchange is over: each group owes its delay from there. Undefined when no group is held. Never rejects. */
  complete(end: End): Promise<void> | undefined {
    if (this.#leases.length === 0) return undefined
    const delayMs = Math.max(end.delayMs, this.owedByHopsMs)
    return completeAll(this.request.options.ledger, this.#leases, { ...end, delayMs }).then(() =>
      crashPoint('pace-group.completed'),
    )
  }

  /** Nothing was sent. @param how  unused: the site has seen a connection, so each lane owes its delay. Never rejects. */
  release(how: 'release' | 'unused' = 'release'): Promise<void> {
    return releaseAll(this.request.options.ledger, this.#leases, how)
  }
}
