/**
 * The permits service as a process: leases over HTTP for crawlers that fetch on their own. Any number of processes share one Redis.
 * Start at server.ts, the routes; permits.ts implements them, and attempt.ts of @decorum/sending calls the ledger.
 */

import type { AddressInfo } from 'node:net'
import { takeOverDelays } from '@decorum/config'
import {
  aboutThisProcess,
  BUILD,
  type Joined,
  openFleetLedger,
  startJoined,
  VERSION,
} from '@decorum/config/fleet-config'
import { systemClock } from '@decorum/protocol'
import {
  endIfUnfit,
  gaugeOf,
  gaugesOf,
  ledgerMetrics,
  listenError,
  openTraces,
  processMetrics,
  type RunningService,
  roleLog,
} from '@decorum/runtime'
import { Counter, Registry } from '@decorum/runtime/prometheus'
import { openRobotsOrders, startHousekeeping } from '@decorum/sending/granting'
import { type PermitsConfig, readConfig } from './config.ts'
import { type OpenPages, openPages } from './pages.ts'
import { PermitIds, sharedKey } from './permit-id.ts'
import { openPermits } from './permits.ts'
import { buildServer } from './server.ts'

const GRANT_AHEAD_MS = 8 // as in the fleet's fetchers: the round trip to the ledger lies before the due time, not behind it
/** Most tokens named in a metric. */
const MOST_TOKENS = 20

/**
 * Starts the service. It listens on loopback unless HOST says otherwise.
 * @param pagesBy  keeps pages from workers of pools; absent: nothing is kept
 * @throws SettingsError on wrong settings, and on those that contradict the fleet's configuration; Error with a message for people when
 * the port is taken or Redis is unreachable
 */
export const main = (
  env: Record<string, string | undefined> = process.env,
  pagesBy?: OpenPages,
): Promise<RunningService> => startJoined('permits', env, readConfig, (joined) => start(joined, pagesBy))

async function start(joined: Joined<PermitsConfig>, pagesBy: OpenPages | undefined): Promise<RunningService> {
  const { config } = joined
  const { agents } = config
  const clock = systemClock
  const log = roleLog(config.LOG_LEVEL)
  const registry = new Registry()
  const traces = await openTraces('permits', VERSION, config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const ledger = await openFleetLedger(joined, log, {
    clock,
    reserveMs: config.RESERVE_MS,
    backOffMs: config.BACK_OFF_MS,
    grantAheadMs: GRANT_AHEAD_MS,
    onCall: ledgerMetrics(registry),
  })
  const { redis, room, robots } = await openRobotsOrders({
    ledger,
    redisUrl: config.REDIS_URL,
    reserveMs: config.RESERVE_MS,
    housekeeping: () => housekeeping,
    log,
  })
  const key = sharedKey(redis, clock)
  await key().catch((error: unknown) => log.warn({ err: (error as Error).message }, 'permits wait for Redis'))
  const pages = await openPages(config, pagesBy, log, clock)
  const permits = openPermits({
    pages,
    config,
    ledger,
    robots,
    ids: new PermitIds(key),
    fetchers: () => housekeeping.fetchers(),
    traces,
  })
  const following = joined.follow({
    ledger,
    log,
    onUnfit: (error) => endIfUnfit(error, log),
    apply(next) {
      takeOverDelays(agents, next.agents)
      config.PERMIT_MAX_MS = next.PERMIT_MAX_MS
      config.PAGE_MAX_BYTES = next.PAGE_MAX_BYTES
      config.MAX_ATTEMPTS = next.MAX_ATTEMPTS
      permits.desk.origins.robots.setRetry(next.ROBOTS_RETRY_MS)
      ledger.setLimits({ backOffMs: next.BACK_OFF_MS })
    },
  })
  const housekeeping = await startHousekeeping('permits', ledger, log, () => {
    const pools = permits.pools.demand()
    return aboutThisProcess(following, pools === undefined ? {} : { pools })
  })
  permits.pools.onDemand = () => housekeeping.announce()
  gaugesOf(registry, 'decorum_permits_robots_fetches', 'robots fetches under way, by token', 'token', () =>
    room.shares.most(MOST_TOKENS).map(({ group, held }) => [group.slice(group.indexOf(':') + 1), held]),
  )
  processMetrics(registry, BUILD, () => following.now().version)
  const server = buildServer({
    permits,
    tokens: config.tokens,
    registry,
    count: countersOf(registry, permits.granter),
    log,
    version: VERSION,
  })
  const stop = async (): Promise<void> => {
    await server.close()
    following.stop()
    await housekeeping.stop()
    await robots.close()
    await pages.close()
    redis.disconnect()
    await ledger.close()
    await traces.stop()
  }
  try {
    await server.listen({ host: config.HOST, port: config.PORT })
  } catch (error) {
    await stop()
    throw listenError(error, config.HOST, config.PORT)
  }
  const { port } = server.server.address() as AddressInfo
  log.info({ role: 'permits', port, agents: agents.list.map(({ name }) => name) }, 'ready')
  return { port, stop }
}

function countersOf(registry: Registry, granter: { readonly waiting: number }): (what: string) => void {
  const answers = new Counter({
    name: 'decorum_permits_answers_total',
    help: 'Answers by kind: granted, wait, order, next, completed, unused, extended, or the type of a problem',
    labelNames: ['kind'],
    registers: [registry],
  })
  gaugeOf(registry, 'decorum_permits_waiting', 'Callers that wait in line', () => granter.waiting)
  return (kind) => answers.inc({ kind })
}
