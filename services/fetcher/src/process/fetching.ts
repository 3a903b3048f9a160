/** The work of one fetching process: ledger, connections, slots, sink, orders. */
import { randomUUID } from 'node:crypto'
import { linkTo, openLedger } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'
import { endIfUnfit, queueConnection, type Role } from '@decorum/runtime'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openConnections } from '../http/connections.ts'
import { openLookup } from '../http/lookup.ts'
import { START_AHEAD_MS } from '../limits.ts'
import { carryOut } from '../orders/carry-out.ts'
import { endUnreadable } from '../orders/give-back.ts'
import { openOrdersIn } from '../orders/orders-in.ts'
import { openPace } from '../orders/pace.ts'
import { openSlots } from '../orders/slots.ts'
import type { Tools } from '../orders/tools.ts'
import { siteAnswers } from '../robots/site-answers.ts'
import { openCrawlSinks } from '../sink/crawl-sinks.ts'
import { openSink } from '../sink/open-sink.ts'
import type { Sink } from '../sink/sink.ts'
import { openStats } from './stats.ts'

/** @throws SettingsError for a sink that cannot be opened, LedgerUnfitError or LedgerUnavailableError when Redis will not do */
export async function startFetching(config: Config, log: Logger): Promise<Role> {
  const { agents, guard } = config
  const sink = await sinkOf(config, log)
  const ledger = await openLedger({
    redis: config.REDIS_URL,
    partitions: config.DECORUM_PARTITIONS,
    leaseMs: config.LEASE_MS,
    quarantineMs: config.QUARANTINE_MS,
    grantAheadMs: START_AHEAD_MS,
    backOffMs: config.BACK_OFF_MS,
    bodies: { domainBytes: config.ROBOTS_DOMAIN_MAX_BYTES, allBytes: config.ROBOTS_BODIES_MAX_BYTES },
    onNotice: (sentence) => log.warn(sentence),
  })
  for (const warning of ledger.warnings) log.warn(warning)
  const connections = openConnections({ guard, lookup: openLookup(config.dnsServers) })
  const slots = openSlots(config.FETCH_CONCURRENCY)
  const stats = openStats(slots)
  let stopping = false
  const tools: Tools = {
    ledger,
    connections,
    agents,
    pace: openPace({ ledger, groups: config.paceGroups, addressOf: connections.addressOf }),
    sink,
    siteAnswers: siteAnswers(agents),
    stats,
    log,
    pageMaxBytes: config.PAGE_MAX_BYTES,
    maxAttempts: config.MAX_ATTEMPTS,
    fetchDeadlineMs: config.FETCH_DEADLINE_MS,
    leaseMs: config.LEASE_MS,
    isStopping: () => stopping,
  }

  const member = { id: randomUUID(), role: 'fetcher', slots: config.FETCH_CONCURRENCY }
  // A missing announcement shows the others that this fetcher is away. Only a ledger that refuses it for good ends it.
  const announce = () => void ledger.announce(member).catch((error: unknown) => endIfUnfit(error, log))
  announce()
  const pulse = setInterval(announce, SECOND)

  const connection = queueConnection(linkTo(config.REDIS_URL, { away: 'wait' }), log)
  const orders = openOrdersIn({
    tags: ledger.tags,
    connection,
    slots,
    stats,
    carryOut: (order) => carryOut(order, tools),
    endUnreadable: (order, why) => endUnreadable(order, why, tools),
    log,
  })
  return {
    registry: stats.registry,
    isReady: () => !stopping && ledger.isReady(),
    async stop() {
      stopping = true
      clearInterval(pulse)
      await ledger.announce(member, 0).catch(() => {})
      await orders.stop()
      await connections.close()
      await sink.close()
      connection.disconnect()
      await ledger.close()
    },
  }
}

/** The sink of PAGE_SINK; where several crawls share the fleet, one that keeps each page where its crawl wants it. */
async function sinkOf(config: Config, log: Logger): Promise<Sink> {
  const { agents } = config
  const open = (folder: string) => openSink(config.PAGE_SINK, { folder, agents })
  const own = await open(config.ARCHIVE_DIR)
  if (config.DECORUM_CRAWLS === '') return own
  const onError = (error: unknown): void => log.error({ err: error }, 'pages of a crawl')
  return openCrawlSinks({ folder: config.DECORUM_CRAWLS, own, ownFolder: config.ARCHIVE_DIR, open, onError })
}
