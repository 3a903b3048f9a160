/**
 * The processes of a fleet as objects: the real dispatch, housekeeping, intake rules, slots, orders and exchanges, put together as
 * services/gateway/src/main.ts and services/fetcher/src/process/fetching.ts do, with the world's borders in place of BullMQ and undici.
 */

import type { Agents } from '@decorum/config'
import {
  carryOut,
  endUnreadable,
  noSink,
  openSlots,
  type openStats,
  openTurnAway,
  START_AHEAD_MS,
  type Tools,
  takeOrders,
} from '@decorum/fetcher/testing'
import { admitter, demandOf, type GatewayMetrics, startDispatch, startHousekeeping } from '@decorum/gateway/testing'
import { type Ledger, type LedgerOptions, openLedger, type RedisLink, type StoreItem } from '@decorum/ledger'
import type { PaceGroups } from '@decorum/politeness'
import { robotsJudge } from '@decorum/politeness/admission'
import { assignedId, type Candidate, DEFAULT_CRAWL, MINUTE, SECOND, tagName } from '@decorum/protocol'
import type { Queue } from '@decorum/protocol/bullmq'
import { crashPoint } from '@decorum/runtime'
import { untilOver } from '@decorum/sending'
import { hopLines, siteAnswers } from '@decorum/sending/robots'
import type { Logger } from 'pino'
import type { Jobs } from './jobs.ts'
import type { Wire } from './link.ts'
import type { Process } from './process.ts'
import type { Web } from './sites.ts'
import { START } from './timeline.ts'

export type Parts = {
  process: Process
  link: RedisLink
  wire: Wire
  agents: Agents
  settings: Settings
  /** a queue for each partition */
  candidates: readonly Jobs<Candidate[]>[]
  orders: readonly Jobs<{ orders: unknown[] }>[]
  groups: PaceGroups
  web: Web
  log: Logger
  metrics: GatewayMetrics
  stats: ReturnType<typeof openStats>
  /** goes by the fleet's configuration from here on (configuration.ts) */
  follow(ledger: Ledger): void
}

export type Settings = {
  leaseMs: number
  quarantineMs: number
  reserveMs: number
  deadlineMs: number
  slots: number
  maxAttempts: number
  partitions: number
}

const GATHER_MS = 20 // services/fetcher/src/limits.ts
const AGAIN_MS = 500
const JOBS_AT_ONCE = 4

export function openFor({ process, link, settings }: Parts, more: Partial<LedgerOptions>): Promise<Ledger> {
  const { partitions, leaseMs, quarantineMs, reserveMs } = settings
  const { clock } = process
  return openLedger({ redis: link, clock, partitions, leaseMs, quarantineMs, reserveMs, isNew: true, ...more })
}

/** A process whose Redis does not answer when it starts is started again by whoever watches it. */
export async function started<T>(process: Process, start: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await start()
    } catch {
      await process.clock.sleep(SECOND)
    }
  }
}

export async function startGateway(parts: Parts): Promise<void> {
  const { process, wire, agents, settings, candidates, orders, log, metrics } = parts
  const { clock } = process
  const ledger = await started(process, () => openFor(parts, {}))
  parts.follow(ledger)
  await ledger.crawlBook.refresh().catch(() => undefined)
  const robots = robotsJudge(ledger, undefined)
  const admit = admitter(agents, '127.0.0.0/8', robots, () => ledger.wall(), ledger.crawlBook)
  let fleet = { slots: 0, fetchers: 0, pools: new Map() }
  const dispatches = orders.map((queue, partition) =>
    startDispatch({
      ledger,
      partition,
      // of a queue only this is called
      orders: {
        addBulk: (jobs: { data: { orders: unknown[] } }[]) =>
          queue.add(
            process,
            wire,
            jobs.map(({ data }) => data),
          ),
      } as unknown as Queue,
      agents,
      robots,
      metrics,
      log,
      maxAttempts: settings.maxAttempts,
      reserveMs: settings.reserveMs,
      attemptsOf: (crawl) => ledger.crawlBook.recordOf(crawl).settings?.attempts,
      fleet: () => fleet,
    }),
  )
  const housekeeping = startHousekeeping({
    ledger,
    id: process.name,
    admit,
    metrics,
    log,
    onFleet(members) {
      const fetchers = members.filter(({ role }) => role === 'fetcher')
      const slots = fetchers.reduce((sum, member) => sum + member.slots, 0)
      if (slots !== fleet.slots) for (const dispatch of dispatches) dispatch.wake()
      fleet = { slots, fetchers: fetchers.length, pools: demandOf(members) }
    },
  })
  await ledger.onWake((partition) => dispatches[partition]?.wake())
  const intake = async (partition: number, queue: string, id: string, data: readonly Candidate[]): Promise<void> => {
    const tag = queue.slice(queue.indexOf('{'))
    const admitted = data.map((candidate, at) =>
      admit(candidate, assignedId(tagName(tag), { id, timestamp: START }, at), DEFAULT_CRAWL),
    )
    const byTarget = Map.groupBy(admitted, ({ origin }) =>
      origin === undefined ? partition : ledger.partitionOf(origin),
    )
    for (const [target, some] of byTarget)
      for (;;) {
        crashPoint('intake.before-store')
        const items = some.map(({ item }): StoreItem => item)
        const stored = await ledger.store(target, items, { key: `job:${queue}:${id}` }).catch(() => undefined)
        crashPoint('intake.after-store')
        if (stored !== undefined && stored !== 'outcomes-full') break
        await clock.sleep(AGAIN_MS)
      }
    crashPoint('intake.done')
  }
  const intakes = candidates.map((queue, partition) =>
    queue.take(
      process,
      wire,
      () => JOBS_AT_ONCE,
      ({ id, data }) => intake(partition, queue.name, id, data),
    ),
  )
  process.stop = async () => {
    await Promise.all(intakes.map((close) => close()))
    await Promise.allSettled(dispatches.map((dispatch) => dispatch.stop()))
    await (await housekeeping).stop()
  }
}

export async function startFetcher(parts: Parts): Promise<void> {
  const { process, wire, agents, groups, settings, orders, web, log, stats } = parts
  const { clock } = process
  const ledger = await started(process, () => openFor(parts, { grantAheadMs: START_AHEAD_MS, gatherMs: GATHER_MS }))
  parts.follow(ledger)
  const slots = openSlots(clock, settings.slots)
  const connections = web.connectionsOf(process, ledger.stops)
  let isStopping = false
  const tools: Tools = {
    ledger,
    connections,
    agents,
    groups,
    addressOf: connections.addressOf,
    reporter: untilOver(clock, stats),
    sink: noSink,
    siteAnswers: siteAnswers(agents),
    hopLines: hopLines(clock, ledger),
    stats,
    log,
    pageMaxBytes: 1_000_000,
    maxAttempts: settings.maxAttempts,
    fetchDeadlineMs: settings.deadlineMs,
    leaseMs: settings.leaseMs,
    isStopping: () => isStopping,
  }
  const member = { id: process.name, role: 'fetcher', slots: settings.slots }
  const announce = (): void => void ledger.announce(member).catch(() => undefined)
  announce()
  const pulse = clock.interval(announce, SECOND)
  const stopping = Promise.withResolvers<void>()
  const take = takeOrders(
    {
      clock,
      slots,
      stats,
      carryOut: (order, receivedAt, outside) => carryOut(order, tools, receivedAt, outside),
      turnAway: openTurnAway(tools),
      endUnreadable: (order, why) => endUnreadable(order, why, tools),
      log,
    },
    stopping.promise,
  )
  const takers = orders.map((queue) => queue.take(process, wire, () => JOBS_AT_ONCE, take))
  process.stop = async () => {
    isStopping = true
    clock.cancel(pulse)
    await ledger.announce(member, 0).catch(() => undefined)
    stopping.resolve()
    await Promise.all(takers.map((close) => close()))
    await slots.empty()
  }
}

/** How long a job of candidates belongs to a gateway that has died. */
export const CANDIDATES_LOCK_MS = MINUTE / 2
