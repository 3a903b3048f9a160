/** The fetcher: connects, takes orders, stops in order. The only part of Decorum that touches the outside. */
import { randomUUID } from 'node:crypto'
import { openLedger } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'
import { openDoor, queueConnection, type RunningService } from '@decorum/service'
import pLimit from 'p-limit'
import { pino } from 'pino'
import { carryOut } from './carry-out.ts'
import { readConfig } from './config.ts'
import { openConnections } from './connections.ts'
import { openLookup } from './lookup.ts'
import { openOrdersIn } from './orders-in.ts'
import { openSink } from './sink.ts'
import { openStats } from './stats.ts'

/**
 * Starts one fetching process.
 * @throws SettingsError for wrong settings, LedgerUnfitError or LedgerUnavailableError when Redis will not do
 */
export async function main(env: Record<string, string | undefined> = process.env): Promise<RunningService> {
  const config = readConfig(env)
  const log = pino({ level: config.LOG_LEVEL, base: { role: 'fetcher', pid: process.pid } })
  const { agents, guard } = config
  const ledger = await openLedger({
    redis: config.REDIS_URL,
    partitions: config.DECORUM_PARTITIONS,
    leaseMs: config.LEASE_MS,
    quarantineMs: config.QUARANTINE_MS,
    backOffMs: config.BACK_OFF_MS,
  })
  const sink = await openSink(config.PAGE_SINK, { folder: config.ARCHIVE_DIR, agents })
  const connections = openConnections({ guard, lookup: openLookup(config.dnsServers) })
  const slots = pLimit(config.FETCH_CONCURRENCY)
  const stats = openStats({
    size: config.FETCH_CONCURRENCY,
    used: () => slots.activeCount,
    waiting: () => slots.pendingCount,
  })
  let stopping = false
  const tools = {
    ledger,
    connections,
    agents,
    sink,
    stats,
    log,
    pageMaxBytes: config.PAGE_MAX_BYTES,
    maxAttempts: config.MAX_ATTEMPTS,
    fetchDeadlineMs: config.FETCH_DEADLINE_MS,
    leaseMs: config.LEASE_MS,
    isStopping: () => stopping,
  }

  const door = await openDoor({
    port: config.PORT,
    host: config.HOST,
    registry: stats.registry,
    ready: () => !stopping && ledger.isReady(),
  })

  const id = randomUUID()
  const member = { id, role: 'fetcher', slots: config.FETCH_CONCURRENCY }
  const announce = () => void ledger.announce(member).catch(() => {}) // silence is its own message
  announce()
  const pulse = setInterval(announce, SECOND)

  const connection = queueConnection(config.REDIS_URL, log)
  const orders = openOrdersIn({
    tags: ledger.tags,
    connection,
    slots,
    stats,
    carryOut: (order) => carryOut(order, tools),
    log,
  })
  log.info(
    {
      port: door.port,
      slots: config.FETCH_CONCURRENCY,
      partitions: ledger.tags.length,
      agents: agents.list.map(({ name }) => name),
      opened: guard.opened,
    },
    'ready',
  )
  for (const warning of ledger.warnings) log.warn(warning)
  if (guard.opened.length > 0) log.warn({ opened: guard.opened }, 'these addresses are exempt from the address guard')
  if (!agents.list.every(({ hasContact }) => hasContact))
    log.warn('no contact is set (DECORUM_CONTACT): only opened addresses are visited')

  return {
    port: door.port,
    /** No new permits; what was begun ends; then everything is closed. */
    async stop() {
      stopping = true
      clearInterval(pulse)
      await ledger.announce(member, 0).catch(() => {})
      await orders.stop()
      await connections.close()
      await sink.close()
      connection.disconnect()
      await ledger.close()
      await door.close()
      log.info('stopped')
    },
  }
}
