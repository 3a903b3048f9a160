/**
 * Pace groups: lanes that share a clock beside their own, because they meet in one machine. A request goes out only if
 * every clock above its lane is open. Default: all origins of one host (http, https, any port) share the host's pace.
 */

import { readJsonSetting, wrongValues } from '@decorum/config'
import { hostOf, registrableDomain } from '@decorum/protocol'
import { z } from 'zod'

const delayMs = z.int().min(0).max(86_400_000)
const Group = z.strictObject({
  /** silence owed by the group after each of its requests, ms */
  delayMs,
  /** requests at once; each of so many places keeps the silence by itself */
  inFlight: z.int().min(1).max(16).default(1),
  /** one clock for all agents; otherwise each agent has its own, as it has its own crawl-delay */
  sharedByAgents: z.boolean().default(false),
})
const HOST = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^\[[0-9a-f:.]+\]$/
const Settings = z.strictObject({
  /** true: each host has one pace, that of its lanes; false: lanes of one host know nothing of each other */
  host: z.union([z.boolean(), Group.extend({ delayMs: delayMs.optional() })]).default(true),
  /** registrable domain: example.co.uk, and foo.github.io (public suffix list with its private part) */
  domain: Group.optional(),
  /** the address that is connected to */
  address: Group.optional(),
  lists: z
    .array(
      Group.extend({
        name: z.string().regex(/^[a-z0-9-]{1,64}$/, 'a name of small letters, digits and - is needed'),
        hosts: z
          .array(z.string().regex(HOST, "a host such as 'www.example.com', or '*.example.com' for all below it"))
          .min(1)
          .max(10_000),
      }),
    )
    .max(1_000)
    .default([]),
})

/** One clock above a lane, as lanes of the ledger: places of which one must be free. All of one partition. */
export type PaceClock = {
  lanes: { agent: string; origin: string }[]
  /** ms; undefined: what the request itself owes */
  delayMs: number | undefined
}

export type PaceGroups = {
  /**
   * The lane of the same partition that is the host's clock, where that is another one: `https://` and the host. A lane
   * always shares its partition with it, so both are begun in one step.
   */
  hostLane(agent: string, origin: string): { agent: string; origin: string } | undefined
  /** All other clocks, in the order in which they are entered. @param address  where the request will go */
  above(agent: string, origin: string, address: string | undefined): PaceClock[]
  /** hosts alone share a pace: `above` has nothing to say */
  hostsAlone: boolean
  /** `above` wants to be told the address */
  needsAddress: boolean
}

/** The agent of clocks that all agents share: no product token is called so. */
const EVERYBODY = '*'

/**
 * @param text  path of a JSON file, or inline JSON; empty: one pace per host
 * @throws      Error with a message for people when it cannot be read or does not hold what it should
 */
export function loadPaceGroups(text: string | undefined): PaceGroups {
  const given = text ? readJsonSetting('PACE_GROUPS', '{', text) : {}
  const parsed = Settings.safeParse(given)
  if (!parsed.success) throw new Error(wrongValues(parsed.error, given, 'PACE_GROUPS').join('\n  '))
  const { host, domain, address, lists } = parsed.data
  const names = lists.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new Error(`PACE_GROUPS: two lists have the name ${twice}`)
  const listsOf = listFinder(lists)
  return {
    hostsAlone: address === undefined && domain === undefined && typeof host === 'boolean' && lists.length === 0,
    needsAddress: address !== undefined,
    hostLane(agent, origin) {
      if (host !== true) return undefined
      const clock = `https://${hostOf(origin)}`
      return clock === origin ? undefined : { agent, origin: clock }
    },
    above(agent, origin, at) {
      const name = hostOf(origin)
      const clocks: PaceClock[] = []
      if (address !== undefined && at !== undefined)
        clocks.push(clockOf(agent, 'address', at.includes(':') ? `[${at}]` : at, address))
      const registrable = domain === undefined ? undefined : registrableDomain(name)
      if (domain !== undefined && registrable !== undefined) clocks.push(clockOf(agent, 'domain', registrable, domain))
      if (typeof host === 'object') clocks.push(clockOf(agent, 'host', name, host))
      for (const list of listsOf(name)) clocks.push(clockOf(agent, 'list', list.name, list))
      return clocks
    },
  }
}

type Group = { delayMs?: number | undefined; inFlight: number; sharedByAgents: boolean }

/** Places differ by a port that no origin has, so that they stay in one partition. */
function clockOf(agent: string, kind: string, name: string, group: Group): PaceClock {
  const lanes = Array.from({ length: group.inFlight }, (_, place) => ({
    agent: group.sharedByAgents ? EVERYBODY : agent,
    origin: `${kind}://${name}${place === 0 ? '' : `:${place}`}`,
  }))
  return { lanes, delayMs: group.delayMs }
}

type List = z.output<typeof Settings>['lists'][number]

/** Lists of a host, by exact name and by each name above it. */
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
