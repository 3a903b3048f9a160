/**
 * Permits and the proxy as objects, put together as their own `main` files do: what grants turns to crawlers of others. HTTP between them and
 * their callers is played (crawlers.ts), and so is the queue of orders.
 */

import type { Ledger } from '@decorum/ledger'
import { endOfOrder, openPermits, PermitIds, type Permits } from '@decorum/permits/testing'
import { addressGuard } from '@decorum/politeness/admission'
import { MINUTE } from '@decorum/protocol'
import { Places, type Parts as ProxyParts } from '@decorum/proxy/testing'
import { untilOver } from '@decorum/sending'
import { grantingTools, type Housekeeping, openLines, startHousekeeping } from '@decorum/sending/granting'
import { robotsOrders, robotsRoom } from '@decorum/sending/granting/testing'
import type { LaneConnections } from '@decorum/sending/http'
import { openFor, type Parts, started } from './fleet.ts'

const GRANT_AHEAD_MS = 8 // services/permits/src/main.ts
const GATHER_MS = 20
const PERMIT_MAX_MS = 2 * MINUTE
const KEY = Buffer.alloc(32, 7)
/** The service loads it with the first answer of a pool; nothing may be loaded while virtual time passes. */
void endOfOrder

async function granting(role: string, parts: Parts, gatherMs: number) {
  const { process, settings, orders, log } = parts
  const { clock } = process
  const ledger = await started(process, () => openFor(parts, { grantAheadMs: GRANT_AHEAD_MS, gatherMs }))
  parts.follow(ledger)
  const running = { slots: 0, fetchers: 0 }
  const room = robotsRoom({ ledger, reserveMs: settings.reserveMs, slots: () => running.slots, isLow: () => false })
  const queues = orders.map((queue) => ({
    add: (_: string, data: { orders: unknown[] }) => queue.add(process, parts.wire, [data]),
    close: async () => undefined,
  }))
  const robots = robotsOrders(ledger, queues as unknown as Parameters<typeof robotsOrders>[1], room)
  /** what its workers ask for, and the housekeeping that announces it */
  const pools: { demand: Permits['pools']['demand']; housekeeping?: Housekeeping } = { demand: () => undefined }
  const about = () => ({ version: '', settings: {}, pools: pools.demand() }) as never
  void startHousekeeping(role, ledger, log, about).then((housekeeping) => {
    pools.housekeeping = housekeeping
    clock.interval(() => {
      running.slots = housekeeping.slots()
      running.fetchers = housekeeping.fetchers()
    }, 250)
  })
  return { ledger, robots, running, pools }
}

const configOf = (parts: Parts) => ({
  agents: parts.agents,
  paceGroups: parts.groups,
  guard: addressGuard(['127.0.0.0/8'], []),
  LEASE_MS: parts.settings.leaseMs,
  FETCH_DEADLINE_MS: parts.settings.deadlineMs,
  MAX_ATTEMPTS: parts.settings.maxAttempts,
  PERMIT_MAX_MS,
  PROXY_MAX_WAIT_MS: MINUTE,
  PAGE_MAX_BYTES: 1_000_000,
})

export async function startPermits(parts: Parts): Promise<Permits> {
  const { ledger, robots, running, pools } = await granting('permits', parts, 0)
  const permits = openPermits({
    config: configOf(parts),
    ledger,
    ids: new PermitIds(async () => KEY),
    robots,
    fetchers: () => running.fetchers,
    lookup: async (host: string) => [{ address: parts.web.addressOf(`https://${host}`) ?? '' }],
    pages: { hasRoom: () => true, keep: async () => undefined },
    traces: { span: () => undefined, stop: async () => undefined },
  } as unknown as Parameters<typeof openPermits>[0])
  pools.demand = () => permits.pools.demand()
  permits.pools.onDemand = () => pools.housekeeping?.announce()
  return permits
}

export type ProxyServed = ProxyParts & { ledger: Ledger; connections: LaneConnections }

export async function startProxy(parts: Parts): Promise<ProxyServed> {
  const { process, web } = parts
  const { ledger, robots, running } = await granting('proxy', parts, GATHER_MS)
  const connections = web.connectionsOf(process, ledger.stops)
  const config = configOf(parts)
  const { addressOf } = connections
  const tools = grantingTools({ config, ledger, robots, fetchers: () => running.fetchers, addressOf })
  const nothing = (): void => undefined
  // Of all its members that a request calls, so that the compiler asks for one that is added
  const tally = {
    ...{ waits: () => nothing, came: nothing, held: nothing, sent: nothing, refused: nothing, ended: nothing },
    ...{ robots: nothing, begins: nothing, ends: nothing },
  } satisfies Record<Exclude<keyof ProxyParts['tally'], 'now' | 'most'>, unknown>
  return {
    ledger,
    connections,
    config,
    tools,
    lines: openLines(tools, 0),
    places: new Places(process.clock),
    reporter: untilOver(process.clock, { unheard: 0, stale: 0 }),
    tally,
  } as unknown as ProxyServed
}
