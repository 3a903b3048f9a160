/**
 * The proxy as a process: it stands in front of crawlers that are configured only with its address, holds each of their requests until its
 * turn, and sends it. Any number of proxies share one Redis. Start at server.ts; forward.ts carries out one request.
 */
import { randomBytes } from 'node:crypto'
import { takeOverDelays } from '@decorum/config'
import {
  aboutThisProcess,
  BUILD,
  type Joined,
  openFleetLedger,
  startJoined,
  VERSION,
} from '@decorum/config/fleet-config'
import { type Clock, systemClock } from '@decorum/protocol'
import {
  closeWithin,
  endIfUnfit,
  ledgerMetrics,
  openTraces,
  processMetrics,
  type RunningService,
  roleLog,
} from '@decorum/runtime'
import { Registry } from '@decorum/runtime/prometheus'
import { untilOver } from '@decorum/sending'
import {
  type GrantingTools,
  grantingTools,
  openLines,
  openRobotsOrders,
  startHousekeeping,
} from '@decorum/sending/granting'
import { checkEgress, openConnections, openLookup } from '@decorum/sending/http'
import { clients } from './client.ts'
import { type ProxyConfig, readConfig } from './config.ts'
import { Places } from './places.ts'
import { whyUnreachable } from './refuse.ts'
import { buildServer, listen } from './server.ts'
import { openTally } from './tally.ts'

export type { Counts } from './tally.ts'

const GRANT_AHEAD_MS = 8 // as in permits: the round trip to the ledger lies before the due time, not behind it
/** Ends of exchanges within this time are reported in one call, as in the fetchers. */
const GATHER_MS = 20
const CONNECT_MS = 2_000
/** Time for requests in progress to end when the process is stopping. */
const DRAIN_MS = 30_000

/**
 * Starts the proxy. It listens on loopback unless HOST says otherwise.
 * @throws SettingsError on wrong settings, and on those that contradict the fleet's configuration; Error with a message for people when
 * the port is taken or Redis is unreachable
 */
export const main = (env: Record<string, string | undefined> = process.env): Promise<RunningService> =>
  startJoined('proxy', env, readConfig, start)

async function start(joined: Joined<ProxyConfig>): Promise<RunningService> {
  const { config } = joined
  const { agents, egress } = config
  const clock = systemClock
  for (const { key } of agents.list) await checkEgress(egress(key))
  const authority = config.PROXY_CA === '' ? undefined : (await import('./open-ca.ts')).openCa(config)
  const log = roleLog(config.LOG_LEVEL)
  const registry = new Registry()
  const traces = await openTraces('proxy', VERSION, config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const ledger = await openFleetLedger(joined, log, {
    clock,
    reserveMs: config.RESERVE_MS,
    backOffMs: config.BACK_OFF_MS,
    grantAheadMs: GRANT_AHEAD_MS,
    gatherMs: GATHER_MS,
    onCall: ledgerMetrics(registry),
  })
  const { redis, robots } = await openRobotsOrders({
    ledger,
    redisUrl: config.REDIS_URL,
    reserveMs: config.RESERVE_MS,
    housekeeping: () => housekeeping,
    log,
  })
  const connections = openConnections({
    clock,
    guard: config.guard,
    lookup: openLookup(clock, config.dnsServers),
    stops: ledger.stops,
    egress,
    onEgress(agent, error) {
      if (error === undefined) log.info({ agent: agent.name }, 'egress of the agent works again')
      else log.error({ agent: agent.name, why: error.message }, 'egress of the agent failed')
    },
  })
  const tools: GrantingTools = grantingTools({
    config,
    ledger,
    robots,
    fetchers: () => housekeeping.fetchers(),
    addressOf: connections.addressOf,
    whyUnreachable,
  })
  const lines = openLines(tools, 0)
  const following = joined.follow({
    ledger,
    log,
    onUnfit: (error) => endIfUnfit(error, log),
    apply(next) {
      takeOverDelays(agents, next.agents)
      config.PERMIT_MAX_MS = next.PERMIT_MAX_MS
      tools.origins.robots.setRetry(next.ROBOTS_RETRY_MS)
      ledger.setLimits({ backOffMs: next.BACK_OFF_MS })
    },
  })
  const tally = openTally(registry, () => lines.waiting)
  const passing = sometimes(clock, () => tally.most())
  const housekeeping = await startHousekeeping('proxy', ledger, log, () => {
    const now = passing()
    return aboutThisProcess(following, now.length === 0 ? {} : { passing: now })
  })
  processMetrics(registry, BUILD, () => following.now().version)
  const places = new Places(clock)
  const { server, ended, close, closeAll } = buildServer({
    config,
    tools,
    lines,
    places,
    connections,
    reporter: untilOver(clock, { unheard: 0, stale: 0 }),
    tally,
    traces,
    authority,
    clientOf: clients(agents, config.tokens),
    name: `decorum-${randomBytes(4).toString('hex')}`,
    registry,
    ready: () => ledger.isReady(),
    log,
  })
  const stop = async (): Promise<void> => {
    close()
    places.close()
    await closeWithin(clock, ended(), DRAIN_MS)
    closeAll() // the rest ends as if its client had gone, and is reported
    await closeWithin(clock, ended(), CONNECT_MS)
    following.stop()
    await housekeeping.stop()
    await robots.close()
    await connections.close()
    redis.disconnect()
    await ledger.close()
    await traces.stop()
  }
  try {
    const port = await listen(server, config.PORT, config.HOST)
    log.info({ role: 'proxy', port, agents: agents.list.map(({ name }) => name) }, 'ready')
    return { port, stop, drainMs: DRAIN_MS }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A changed announcement stands beside the previous one for some seconds, so it should not change each second. */
const ANNOUNCED_EVERY_MS = 5_000
function sometimes<T>(clock: Clock, read: () => T): () => T {
  let [seen, checkedAt] = [read(), clock.monotonic()]
  return () => {
    if (clock.monotonic() - checkedAt >= ANNOUNCED_EVERY_MS)
      [seen, checkedAt] = [structuredClone(read()), clock.monotonic()]
    return seen
  }
}
