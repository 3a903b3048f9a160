/**
 * Pace groups: lanes that share a delay beside their own, because their hosts are one machine. A request is sent only when the delays of
 * all its groups are over. By default all origins of one host (http, https, any port) share the host's delay.
 */

import { type PaceGroupSettings, readPaceGroups } from '@decorum/config'
import { hostOf, registrableDomain } from '@decorum/protocol'

/** A group as lanes of the ledger, one for each request that may be in flight: a request takes a free one. All are in one partition. */
export type PaceLanes = {
  lanes: { agent: string; origin: string }[]
  /** ms; undefined: the delay of the request itself */
  delayMs: number | undefined
}

export type PaceGroups = {
  /**
   * The lane that keeps the host's delay, if that is another lane: `https://` and the host. Both are always in one partition, so both
   * leases are started in one step.
   */
  hostLane(agent: string, origin: string): { agent: string; origin: string } | undefined
  /** All other groups, in the order in which their leases are started. @param address  target of the request */
  above(agent: string, origin: string, address: string | undefined): PaceLanes[]
  /** whether only hosts share a delay: then `above` returns nothing */
  hostsAlone: boolean
  /** whether `above` needs the address */
  needsAddress: boolean
}

/** The agent name of groups that all agents share; no product token is `*`. */
const EVERYBODY = '*'

/**
 * @param text  path of a JSON file, or inline JSON; empty: only hosts share a delay
 * @throws      Error with a message for people when it cannot be read or is invalid
 */
export const loadPaceGroups = (text: string | undefined): PaceGroups => paceGroups(readPaceGroups(text))

function paceGroups({ host, domain, address, lists }: PaceGroupSettings): PaceGroups {
  const listsOf = listFinder(lists)
  return {
    hostsAlone: address === undefined && domain === undefined && typeof host === 'boolean' && lists.length === 0,
    needsAddress: address !== undefined,
    hostLane(agent, origin) {
      if (host !== true) return undefined
      const hostLane = `https://${hostOf(origin)}`
      return hostLane === origin ? undefined : { agent, origin: hostLane }
    },
    above(agent, origin, at) {
      const name = hostOf(origin)
      const paceLanes: PaceLanes[] = []
      if (address !== undefined && at !== undefined)
        paceLanes.push(paceLanesOf(agent, 'address', at.includes(':') ? `[${at}]` : at, address))
      const registrable = domain === undefined ? undefined : registrableDomain(name)
      if (domain !== undefined && registrable !== undefined)
        paceLanes.push(paceLanesOf(agent, 'domain', registrable, domain))
      if (typeof host === 'object') paceLanes.push(paceLanesOf(agent, 'host', name, host))
      for (const list of listsOf(name)) paceLanes.push(paceLanesOf(agent, 'list', list.name, list))
      return paceLanes
    },
  }
}

type Group = { delayMs?: number | undefined; inFlight: number; sharedByAgents: boolean }

/** The lanes of a group differ only by a port, so that they stay in one partition; no origin has such a name. */
function paceLanesOf(agent: string, kind: string, name: string, group: Group): PaceLanes {
  const lanes = Array.from({ length: group.inFlight }, (_, place) => ({
    agent: group.sharedByAgents ? EVERYBODY : agent,
    origin: `${kind}://${name}${place === 0 ? '' : `:${place}`}`,
  }))
  return { lanes, delayMs: group.delayMs }
}

type List = PaceGroupSettings['lists'][number]

/** Finds the lists of a host, by its exact name and by each name above it. */
function listFinder(lists: List[]): (host: string) => List[] {
  const exact = new Map<string, Set<List>>()
  const below = new Map<string, Set<List>>()
  for (const list of lists) {
    for (const host of list.hosts) {
      const [into, name] = host.startsWith('*.') ? ([below, host.slice(2)] as const) : ([exact, host] as const)
      into.set(name, (into.get(name) ?? new Set()).add(list))
    }
  }
  return (host) => {
    if (lists.length === 0) return []
    const found = new Set(exact.get(host))
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      for (const list of below.get(host.slice(dot + 1)) ?? []) found.add(list)
    }
    return lists.filter((list) => found.has(list))
  }
}
