/** Pace groups of a run: what PACE_GROUPS says, and what the judge is told, written once more so that it does not ask the fleet. */
import type { PaceGroups } from '@decorum/audit'
import { hostOf } from '@decorum/protocol'

export const GROUPED = ['hosts', 'list', 'address'] as const
/** hosts: schemes and ports of a host alone · list: hosts that are named together · address: those at one address */
export type Grouped = (typeof GROUPED)[number]

/** One of those that redirects of robots.txt lead to, and others. */
const LISTED = ['site-5.test', 'site-6.test', 'site-7.test']
const LIST = { name: 'together', delayMs: 700, inFlight: 1, sharedByAgents: true }
const ADDRESS = { delayMs: 300, inFlight: 2 }

/** Hosts whose pace is not their own. @param sites  with their addresses */
export function sharing(grouped: Grouped, sites: readonly { host: string; address: string }[]): string[] {
  if (grouped === 'hosts') return []
  if (grouped === 'list') return LISTED
  const byAddress = Map.groupBy(sites, ({ address }) => address)
  return [...byAddress.values()].flatMap((all) => (all.length > 1 ? all.map(({ host }) => host) : []))
}

export const PACE_GROUPS: Record<Grouped, string> = {
  hosts: '',
  list: JSON.stringify({ lists: [{ ...LIST, hosts: LISTED }] }),
  address: JSON.stringify({ address: ADDRESS }),
}

const placesOf = (agent: string, name: string, count: number): { agent: string; origin: string }[] =>
  Array.from({ length: count }, (_, place) => ({ agent, origin: `${name}:${place}` }))

export const judgedGroups = (grouped: Grouped): PaceGroups => ({
  hostLane(agent, origin) {
    const host = `https://${hostOf(origin)}`
    return host === origin ? undefined : { agent, origin: host }
  },
  above(agent, origin, address) {
    if (grouped === 'list' && LISTED.includes(hostOf(origin)))
      return [{ lanes: placesOf('*', 'list', LIST.inFlight), delayMs: LIST.delayMs }]
    if (grouped === 'address' && address !== undefined)
      return [{ lanes: placesOf(agent, address, ADDRESS.inFlight), delayMs: ADDRESS.delayMs }]
    return []
  },
  needsAddress: grouped === 'address',
})
