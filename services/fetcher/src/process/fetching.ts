/** The work of one fetching process: ledger, connections, slots, sink, orders. */

import { randomUUID } from 'node:crypto'
import { storeOptions, takeOverDelays } from '@decorum/config'
import { aboutThisProcess, type Joined, openFleetLedger, VERSION } from '@decorum/config/fleet-config'
import { type Ledger, linkTo } from '@decorum/ledger'
import { SECOND, systemClock } from '@decorum/protocol'
import { servingWhenFull } from '@decorum/protocol/bullmq'
import { endIfUnfit, logOutages, openTraces, type Role } from '@decorum/runtime'
import { untilOver } from '@decorum/sending'
import { checkEgress, openConnections, openLookup } from '@decorum/sending/http'
import { hopLines, siteAnswers } from '@decorum/sending/robots'
import type { Logger } from 'pino'
import { type Config, contentUrlOf, keepsPages } from '../config.ts'
import { GATHER_MS, START_AHEAD_MS } from '../limits.ts'
import { carryOut } from '../orders/carry-out.ts'
import { openOrdersIn } from '../orders/orders-in.ts'
import { endUnreadable } from '../orders/release.ts'
import { openSlots } from '../orders/slots.ts'
import { openTurnAway } from '../orders/turn-away.ts'
import { openCrawlSinks } from '../sink/crawl-sinks.ts'
import { openSink } from '../sink/open-sink.ts'
import { keepWithin } from '../sink/retention.ts'
import type { Sink } from '../sink/sink.ts'
import { openStats } from '../stats.ts'
import type { Tools } from '../tools.ts'

/** @throws SettingsError for a sink that cannot be opened, LedgerUnfitError or LedgerUnavailableError when Redis cannot be used */
export async function startFetching(joined: Joined<Config>, log: Logger): Promise<Role> {
  const { config } = joined
  const { agents, egress, guard } = config
  for (const { key } of agents.list) await checkEgress(egress(key))
  const contentUrl = contentUrlOf(config)
  const traces = await openTraces('fetcher', VERSION, config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const sink = await sinkOf(config, contentUrl, log)
  const clock = systemClock
  const slots = openSlots(clock, config.FETCH_CONCURRENCY)
  const stats = openStats(slots)
  const ledger = await openFleetLedger(joined, log, {
    clock,
    grantAheadMs: START_AHEAD_MS,
    gatherMs: GATHER_MS,
    ...limitsOf(config),
    onCall: stats.onCall,
  })
  const connections = openConnections({
    clock,
    guard,
    lookup: openLookup(clock, config.dnsServers),
    stops: ledger.stops,
    egress,
    onEgress(agent, error) {
      if (error === undefined) log.info({ agent: agent.name }, 'egress of the agent works again')
      else log.error({ agent: agent.name, why: error.message }, 'egress of the agent failed: its URLs wait')
    },
  })
  const stopRetention = boundArchive(config, ledger, log)
  let stopping = false
  const tools: Tools = {
    ledger,
    connections,
    agents,
    groups: config.paceGroups,
    addressOf: connections.addressOf,
    reporter: untilOver(clock, stats),
    sink,
    siteAnswers: siteAnswers(agents),
    hopLines: hopLines(clock, ledger),
    stats,
    traces,
    log,
    pageMaxBytes: config.PAGE_MAX_BYTES,
    maxAttempts: config.MAX_ATTEMPTS,
    fetchDeadlineMs: config.FETCH_DEADLINE_MS,
    leaseMs: config.LEASE_MS,
    isStopping: () => stopping,
  }

  const following = joined.follow({
    ledger,
    log,
    onUnfit: (error) => endIfUnfit(error, log),
    apply(next) {
      takeOverDelays(agents, next.agents)
      tools.pageMaxBytes = next.PAGE_MAX_BYTES
      tools.maxAttempts = next.MAX_ATTEMPTS
      ledger.setLimits(limitsOf(next))
    },
  })

  const id = randomUUID()
  const member = () => ({
    id,
    role: 'fetcher',
    slots: config.FETCH_CONCURRENCY,
    about: aboutThisProcess(following, { keepsPages: keepsPages(config) }),
  })
  // A failed announcement is no error: its absence shows that this fetcher is unreachable. Only a permanent refusal ends the process.
  const announce = () => {
    stats.configVersion = following.now().version
    ledger.announce(member()).catch((error: unknown) => endIfUnfit(error, log))
    if (contentUrl !== '') ledger.announceContent(contentUrl).catch(() => {})
  }
  announce()
  const pulse = clock.interval(announce, SECOND)

  const turnAway = openTurnAway(tools)
  const connection = logOutages(servingWhenFull(linkTo(config.REDIS_URL, { away: 'wait' })), log)
  const orders = openOrdersIn({
    clock,
    tags: ledger.tags,
    connection,
    slots,
    stats,
    room: () => sink.room?.(),
    carryOut: (order, receivedAt, outside) => carryOut(order, tools, receivedAt, outside),
    turnAway,
    endUnreadable: (order, why) => endUnreadable(order, why, tools),
    log,
  })
  return {
    registry: stats.registry,
    isReady: () => !stopping && ledger.isReady(),
    async stop() {
      stopping = true
      following.stop()
      clock.cancel(pulse)
      await ledger.announce(member(), 0).catch(() => {})
      await orders.stop()
      await connections.close()
      await stopRetention()
      await sink.close()
      connection.disconnect()
      await ledger.close()
      await traces.stop()
    },
  }
}

/** The settings of the ledger that may change. */
const limitsOf = ({ BACK_OFF_MS }: Config) => ({ backOffMs: BACK_OFF_MS })

/** The sink of PAGE_SINK; if several crawls share the fleet, a sink that keeps each page in the folder of its crawl. */
async function sinkOf(config: Config, contentUrl: string, log: Logger): Promise<Sink> {
  const { agents } = config
  const store = storeOptions(config)
  const more = { ...fileLimit(config), ...(store && { s3: { ...store, log } }) }
  const open = (folder: string) => openSink(config.PAGE_SINK, { folder, agents, contentUrl, ...more })
  const own = await open(config.ARCHIVE_DIR)
  if (config.crawls === '') return own
  const onError = (error: unknown): void => log.error({ err: error }, 'pages of a crawl')
  return openCrawlSinks({ folder: config.crawls, own, ownFolder: config.ARCHIVE_DIR, open, onError })
}

/** A file has at most a tenth of the folder's bound (but at least 1 MB), so that removing one does not remove most pages. */
const fileLimit = ({ ARCHIVE_MAX_BYTES: most }: Config): { maxBytes?: number } =>
  most === 0 ? {} : { maxBytes: Math.min(1_000_000_000, Math.max(1_000_000, Math.ceil(most / 10))) }

/** Keeps ARCHIVE_DIR within ARCHIVE_MAX_BYTES, if both are set. @returns a function that stops that */
function boundArchive(config: Config, ledger: Ledger, log: Logger): () => Promise<void> {
  const { ARCHIVE_DIR: folder, ARCHIVE_MAX_BYTES: maxBytes, LEASE_MS: leaseMs, PAGE_SINK } = config
  if (folder === '' || maxBytes === 0 || PAGE_SINK !== 'warc') return async () => {}
  // The later of both: the times of stream entries never go backwards, like ledger.now(), but follow a jump ahead, like ledger.wall().
  const now = (): number => Math.max(ledger.now(), ledger.wall())
  return keepWithin({ folder, maxBytes, leaseMs, log, oldestOutcome: () => ledger.oldestOutcome(), now })
}
