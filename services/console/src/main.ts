/**
 * The console as a process: connect, start, stop. It reads the state of the fleet and passes on operators' actions; it never fetches.
 * Start at server.ts, which combines access/ (authorisation), api/ (HTTP API), pages/ (HTML), watch/ (reading the fleet, metrics) and
 * board.ts (the queue board).
 */
import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { takeOverDelays } from '@decorum/config'
import { aboutThisProcess, BUILD, type Joined, startJoined, VERSION } from '@decorum/config/fleet-config'
import { connectLink, linkTo, type RedisLink } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { CANDIDATES, ORDERS, queueOptions, systemClock } from '@decorum/protocol'
import { Queue } from '@decorum/protocol/bullmq'
import {
  endIfUnfit,
  ledgerMetrics,
  listenError,
  logOutages,
  processMetrics,
  type RunningService,
  roleLog,
} from '@decorum/runtime'
import { Registry } from '@decorum/runtime/prometheus'
import { type ConsoleConfig, readConfig, type Times } from './config.ts'
import { totalsOf } from './pages/headline.ts'
import { buildServer } from './server.ts'
import { type FleetView, fleetViewer } from './watch/fleet-view.ts'
import { Pace, SAMPLE_MS } from './watch/pace.ts'

/** How often this process announces itself. */
const ANNOUNCE_MS = 1_000
/** If Redis has not answered by then, it counts as unavailable, ms. */
const PING_MS = 1_000

/**
 * Starts the console. It listens on loopback unless HOST says otherwise.
 * @param times  used in place of TIMES
 * @throws SettingsError on wrong settings; Error with a message for people when the port is taken or Redis is unavailable
 */
export const main = (
  env: Record<string, string | undefined> = process.env,
  times: Partial<Times> = {},
): Promise<RunningService> => startJoined('console', env, (own) => ({ ...readConfig(own), ...times }), start)

/**
 * A million posted URLs leave half a gigabyte of short-lived objects behind. V8 would let the heap grow to three times its size before it
 * collects them. These flags, which V8 reads whenever it sizes a space, make it collect sooner (bench `console`, docs/figures.md).
 */
const HEAP_FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=45']

async function start(joined: Joined<ConsoleConfig>): Promise<RunningService> {
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
  const { config } = joined
  const log = roleLog(config.logLevel)
  const registry = new Registry()
  const ledger = await openLedgerWithViews({
    redis: config.redisUrl,
    partitions: config.partitions,
    outcomesLimit: config.outcomesLimit,
    leaseMs: config.leaseMs,
    quarantineMs: config.quarantineMs,
    onNotice: (sentence) => log.warn(sentence),
    onCall: ledgerMetrics(registry),
  })
  // The connection for requests of people fails at once while Redis is unavailable, instead of queueing their requests.
  const redis = logOutages(linkTo(config.redisUrl, { away: 'fail', lazyConnect: true }), log)
  await connectLink(redis, { clock: systemClock, ms: PING_MS }).catch(() => undefined) // the connection keeps trying; readyz reports the state
  const queues = ledger.tags.flatMap((tag) =>
    [CANDIDATES, ORDERS].map((name) => {
      const options = { connection: redis, ...queueOptions(tag), skipMetasUpdate: true, skipWaitingForReady: true }
      return new Queue(name, options).on('error', () => undefined) // the connection has logged the error
    }),
  )
  const pace = new Pace()
  const view = fleetViewer(ledger)
  const sampler = systemClock.interval(() => void sample(ledger, view, pace), SAMPLE_MS)
  sampler.unref()

  await joined.enforce(ledger)
  const following = joined.follow({
    ledger,
    log,
    onUnfit: (error) => endIfUnfit(error, log),
    apply(next) {
      takeOverDelays(config.agents, next.agents)
      config.outcomesLimit = next.outcomesLimit
      ledger.setLimits({ outcomesLimit: next.outcomesLimit })
    },
  })
  processMetrics(registry, BUILD, () => following.now().version)
  const id = randomUUID()
  const member = () => ({ role: 'console', id, slots: 0, about: aboutThisProcess(following) })
  const announce = (): void => void ledger.announce(member()).catch((error: unknown) => endIfUnfit(error, log))
  const announcing = systemClock.interval(announce, ANNOUNCE_MS)
  announcing.unref()
  announce()
  async function stop(): Promise<void> {
    following.stop()
    systemClock.cancel(sampler)
    systemClock.cancel(announcing)
    await ledger.announce(member(), 0).catch(() => undefined)
    await server.close()
    await Promise.allSettled(queues.map((queue) => queue.close()))
    redis.disconnect()
    await ledger.close()
  }
  const redisAnswers = () => answers(redis)
  const { server } = await buildServer({
    config,
    ledger,
    redis,
    view,
    pace,
    queues,
    redisAnswers,
    log,
    registry,
    version: VERSION,
  })
  try {
    await server.listen({ host: config.host, port: config.port })
  } catch (error) {
    await stop()
    throw listenError(error, config.host, config.port)
  }
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : config.port
  const host = config.host.includes(':') ? `[${config.host.replace(/^\[|\]$/g, '')}]` : config.host
  log.info({ role: 'console', port, url: `http://${host}:${port}/` }, 'ready')
  return { port, stop }
}

/** When the ledger does not answer there is nothing to sample. */
async function sample(ledger: LedgerWithViews, view: () => Promise<FleetView>, pace: Pace): Promise<void> {
  const seen = await view()
  if (seen.kind === 'unavailable') return
  // For the page of the last hours. Gateways do the same; the sample is taken by whichever process calls first
  await Promise.allSettled(ledger.tags.map((_, partition) => ledger.sample(partition)))
  if (seen.away > 0) return
  const { outcomes } = totalsOf(seen)
  const at = systemClock.monotonic()
  pace.add(outcomes, at)
  pace.addCrawls(seen.crawls, at)
}

async function answers(redis: RedisLink): Promise<boolean> {
  if (redis.status !== 'ready') return false
  const late = systemClock.sleep(PING_MS, { ref: false }).then(() => false)
  return Promise.race([
    redis.ping().then(
      () => true,
      () => false,
    ),
    late,
  ])
}
