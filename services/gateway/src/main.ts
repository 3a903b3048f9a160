/** A gateway as a process. Any number of gateways share one Redis. Start at dispatch.ts, which calls decide.ts for each lane. */
import { randomUUID } from 'node:crypto'
import { takeOverDelays } from '@decorum/config'
import { aboutThisProcess, type Joined, openFleetLedger, startJoined, VERSION } from '@decorum/config/fleet-config'
import { linkTo } from '@decorum/ledger'
import { robotsJudge } from '@decorum/politeness/admission'
import { ORDERS, queueOptions, systemClock } from '@decorum/protocol'
import { Queue, servingWhenFull } from '@decorum/protocol/bullmq'
import {
  closeWithin,
  endIfUnfit,
  logOutages,
  openHealthServer,
  openTraces,
  type RunningService,
  roleLog,
} from '@decorum/runtime'
import { admitter } from './admit.ts'
import { startIntake } from './candidates-in.ts'
import { type GatewayConfig, readConfig } from './config.ts'
import { type FleetSize, startDispatch } from './dispatch.ts'
import { openHeadroom } from './headroom.ts'
import { startHousekeeping } from './housekeeping.ts'
import { gatewayMetrics } from './metrics.ts'
import { demandOf } from './pools.ts'

/** Candidate jobs in progress in one gateway, per partition: more would only keep more candidates in memory. */
const INTAKE_CONCURRENCY = 4

/**
 * @throws SettingsError for wrong settings, and for those that contradict the fleet's configuration · LedgerUnavailableError when
 * Redis is unavailable · LedgerUnfitError when this Redis cannot be used · Error when the port is in use
 */
export const main = (env: Record<string, string | undefined> = process.env): Promise<RunningService> =>
  startJoined('gateway', env, readConfig, start)

async function start(joined: Joined<GatewayConfig>): Promise<RunningService> {
  const { config } = joined
  const log = roleLog(config.LOG_LEVEL)
  const metrics = gatewayMetrics(
    () => following.now().version,
    () => headroom.memory.share,
  )
  const traces = await openTraces('gateway', VERSION, config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const ledger = await openFleetLedger(joined, log, {
    clock: systemClock,
    reserveMs: config.RESERVE_MS,
    ...limitsOf(config),
    onCall: metrics.onCall,
  })
  const { agents } = config
  const health = await openHealthServer({
    port: config.PORT,
    host: config.HOST,
    registry: metrics.registry,
    ready: () => ledger.isReady(),
  })
  const connection = logOutages(servingWhenFull(linkTo(config.REDIS_URL, { away: 'wait' })), log)
  const robots = robotsJudge(ledger, config.ROBOTS_RETRY_MS)
  const admit = admitter(agents, config.DECORUM_ALLOW_ADDRESSES, robots, () => ledger.wall(), ledger.crawlBook)

  await ledger.crawlBook.look().catch(() => undefined) // housekeeping retries every second

  let fleet: FleetSize = { slots: 0, fetchers: 0, pools: new Map() }
  const dispatches = ledger.tags.map((tag, partition) => {
    const orders = new Queue(ORDERS, { connection, ...queueOptions(tag) }).on('error', () => {}) // the connection has logged the error
    const dispatch = startDispatch({
      ledger,
      partition,
      orders,
      agents,
      robots,
      metrics,
      traces,
      log,
      get maxAttempts() {
        return config.MAX_ATTEMPTS
      },
      reserveMs: config.RESERVE_MS,
      attemptsOf: (crawl) => ledger.crawlBook.recordOf(crawl).settings?.attempts,
      fleet: () => fleet,
    })
    return { orders, ...dispatch }
  })
  let limits = limitsOf(config)
  const headroom = openHeadroom({
    ledger,
    log,
    outcomesLimit: () => limits.outcomesLimit,
    isIdle: (partition) => dispatches[partition]?.isIdle() ?? true,
  })
  const following = joined.follow({
    ledger,
    log,
    onUnfit: (error) => endIfUnfit(error, log),
    apply(next) {
      takeOverDelays(agents, next.agents)
      robots.setRetry(next.ROBOTS_RETRY_MS)
      config.MAX_ATTEMPTS = next.MAX_ATTEMPTS
      limits = limitsOf(next)
      ledger.setLimits(limits)
    },
  })
  const housekeeping = await startHousekeeping({
    ledger,
    id: randomUUID(),
    about: () => aboutThisProcess(following),
    admit,
    metrics,
    log,
    isLow: headroom.isLow,
    onFleet(members) {
      const fetchers = members.filter(({ role }) => role === 'fetcher')
      const slots = fetchers.reduce((sum, member) => sum + member.slots, 0)
      if (slots !== fleet.slots) for (const dispatch of dispatches) dispatch.wake()
      fleet = { slots, fetchers: fetchers.length, pools: demandOf(members) }
    },
  })
  await ledger.onWake((partition) => dispatches[partition]?.wake())
  const intakes = [...ledger.tags, ...ledger.retired].map((tag, partition) =>
    startIntake({
      ledger,
      partition,
      tag,
      connection,
      admit,
      metrics,
      traces,
      log,
      turn: () => headroom.turn(partition),
      concurrency: INTAKE_CONCURRENCY,
      lockMs: config.INTAKE_LOCK_MS,
    }),
  )

  log.info(
    { role: 'gateway', port: health.port, partitions: ledger.tags.length, agents: agents.list.map(({ name }) => name) },
    'ready',
  )
  return {
    port: health.port,
    /** Intake stops first. Fetchers start the reserved lanes, or the reservations expire. */
    async stop() {
      following.stop()
      await headroom.stop()
      await closeWithin(
        systemClock,
        intakes.map((worker) => worker.close()),
      )
      await Promise.allSettled(dispatches.map((dispatch) => dispatch.stop()))
      await housekeeping.stop()
      await closeWithin(
        systemClock,
        dispatches.map(({ orders }) => orders.close()),
      )
      await health.close()
      connection.disconnect()
      await ledger.close()
      await traces.stop()
    },
  }
}

/** The settings of the ledger that may change. */
const limitsOf = (config: GatewayConfig) => ({
  laneLimit: config.LANE_LIMIT,
  outcomesLimit: config.OUTCOMES_LIMIT,
  backOffMs: config.BACK_OFF_MS,
})
