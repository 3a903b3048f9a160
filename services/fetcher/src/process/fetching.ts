/** One fetching process: ledger, connections, slots, sink, orders. Its HTTP door is opened by whoever starts it. */
import { randomUUID } from 'node:crypto'
import { linkTo, openLedger } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'
import { endIfUnfit, queueConnection } from '@decorum/runtime'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from '../config.ts'
import { openConnections } from '../http/connections.ts'
import { openLookup } from '../http/lookup.ts'
import { GRANT_AHEAD_MS } from '../limits.ts'
import { carryOut } from '../orders/carry-out.ts'
import { openOrdersIn } from '../orders/orders-in.ts'
import { openPace } from '../orders/pace.ts'
import { openSlots } from '../orders/slots.ts'
import { endUnreadable } from '../orders/unreadable-order.ts'
import { siteAnswers } from '../robots/site-answers.ts'
import { openCrawlSinks } from '../sink/crawl-sinks.ts'
import { openSink } from '../sink/sink.ts'
import { openStats } from './stats.ts'

export type Fetching = {
  registry: Registry
  /** the ledger answers, and nobody has asked to stop */
  isReady(): boolean
  /** No new permits; what was begun ends; then everything is closed. */
  stop(): Promise<void>
}

/** @throws SettingsError for a sink that is none, LedgerUnfitError or LedgerUnavailableError when Redis will not do */
export async function startFetching(config: Config, log: Logger): Promise<Fetching> {
  const { agents, guard } = config
  const open = (folder: string) => openSink(config.PAGE_SINK, { folder, agents })
  const own = await open(config.ARCHIVE_DIR)
  const onError = (error: unknown): void => log.error({ err: error }, 'pages of a crawl')
  const sink =
    config.DECORUM_CRAWLS === ''
      ? own
      : openCrawlSinks({ folder: config.DECORUM_CRAWLS, own, ownFolder: config.ARCHIVE_DIR, open, onError })
  const ledger = await openLedger({
    redis: config.REDIS_URL,
    partitions: config.DECORUM_PARTITIONS,
    leaseMs: config.LEASE_MS,
    quarantineMs: config.QUARANTINE_MS,
    grantAheadMs: GRANT_AHEAD_MS,
    backOffMs: config.BACK_OFF_MS,
    bodies: { domainBytes: config.ROBOTS_DOMAIN_MAX_BYTES, allBytes: config.ROBOTS_BODIES_MAX_BYTES },
    onNotice: (sentence) => log.warn(sentence),
  })
  for (const warning of ledger.warnings) log.warn(warning)
  const connections = openConnections({ guard, lookup: openLookup(config.dnsServers) })
  const slots = openSlots(config.FETCH_CONCURRENCY)
  const stats = openStats({
    size: config.FETCH_CONCURRENCY,
    used: () => slots.taken,
    waiting: () => slots.waiting,
  })
  let stopping = false
  const tools = {
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
  // Silence is its own message, unless the ledger wants none of us.
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
    endUnreadable: (order, why) => endUnreadable(order, why, { ledger, agents }),
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
