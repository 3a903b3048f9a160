/**
 * Due lanes → robots rules → orders. One loop per partition; it sleeps until the next lane is due, or until the ledger signals
 * that one has become due earlier.
 */

import type { Agents } from '@decorum/config'
import {
  type Ledger,
  MAX_ITEMS,
  type Pending,
  type PoolDemand,
  type ReservedLane,
  type ReserveResult,
} from '@decorum/ledger'
import type { RobotsJudge } from '@decorum/politeness/admission'
import { JOB_NAMES, MAX_ORDERS_PER_JOB, type Order, type Outcome, writtenOrder } from '@decorum/protocol'
import { addJobs, type Queue } from '@decorum/protocol/bullmq'
import { crashPoint, defined, outages, type Traces } from '@decorum/runtime'
import type { Logger } from 'pino'
import { alarm } from './alarm.ts'
import { type Decision, decide, decideUnknown } from './decide.ts'
import type { GatewayMetrics } from './metrics.ts'
import { openPools, type Pools } from './pools.ts'
import { shareOf } from './shares.ts'

/** Lanes that become due within this time are reserved early, so that their orders reach a fetch slot before they are due. */
const AHEAD_MS = 80
/** A round collects the lanes that become due within this time, so that the loop does not wake for each of them. */
const ROUND_MS = 40
/** Replaces ROUND_MS while some lanes are already due, because their delays are too short to reserve early: a wait would make them late. */
const LATE_ROUND_MS = 5
/** The longest sleep, and so the longest delay after a lost wake-up. */
const LONGEST_SLEEP_MS = 1_000
/** Time until the slots are checked again when all are taken: they become free too fast for wake-ups. */
const SLOTS_FULL_MS = 5
/** The sleep while Redis is unavailable, or while readers of outcomes lag. */
const TROUBLE_MS = 500
/** URLs read per lane: one, and more after a round in which URLs left without a request. */
const PEEK = 1
const PEEK_DEEP = 50
/** After a reservation without a timely answer the limit of lanes is divided by this; each full answer raises it by one. */
const SHRINK = 4

/** Up to this number, orders are not divided among fetchers. */
const FEW_ORDERS = 16

export type FleetSize = { slots: number; fetchers: number; pools: ReadonlyMap<string, PoolDemand> }

export type DispatchOptions = {
  ledger: Ledger
  partition: number
  orders: Queue
  agents: Agents
  robots: RobotsJudge
  metrics: GatewayMetrics
  traces?: Traces
  log: Logger
  maxAttempts: number
  /** length of a reservation, ms */
  reserveMs: number
  /** a crawl's own limit of attempts, if it has one; the smaller limit counts */
  attemptsOf?: (crawl: string) => number | undefined
  /** the fetch slots of the fleet, the number of fetchers that share them, and the demand of each pool's workers */
  fleet: () => FleetSize
}

export function startDispatch(options: DispatchOptions) {
  const { ledger, partition, log, metrics, fleet } = options
  const bell = alarm(ledger.clock)
  const pools = openPools({ ledger, partition, agents: options.agents, demand: () => fleet().pools })
  let running = true
  let troubled = false
  let isIdle = false
  let peek = PEEK
  let limit = MAX_ITEMS

  /** A slow link gets smaller requests until one is answered in time. */
  const reserve = async (inFlightLimit: number): Promise<ReserveResult> => {
    try {
      const reserved = await ledger.reserve(partition, { limit, aheadMs: AHEAD_MS, inFlightLimit, peek })
      if (reserved.kind === 'reserved' && reserved.lanes.length >= limit) limit = Math.min(MAX_ITEMS, limit + 1)
      return reserved
    } catch (error) {
      limit = Math.max(1, Math.floor(limit / SHRINK))
      peek = PEEK
      throw error
    }
  }

  /** Sending of the latest round's orders, while the next round reserves. Resolves with its error, if it failed. */
  let sending: Promise<Error | undefined> = Promise.resolve(undefined)

  const round = async (): Promise<number> => {
    const { slots, pools: demand } = fleet()
    if (slots === 0) return LONGEST_SLEEP_MS // no fetcher is running
    // Whether an order goes to a pool shows only after its lane is reserved, and pools need no slot of a fetcher: their demand is added.
    let most = slots * 2
    for (const { wanted } of demand.values()) most += wanted
    const inFlightLimit = shareOf(most, partition, ledger.inFlight())
    const reserved = await reserve(inFlightLimit)
    isIdle = reserved.kind === 'wait' && reserved.why === 'nothing-due' && reserved.waitMs === undefined
    if (reserved.kind === 'wait') {
      metrics.waits.inc({ why: reserved.why })
      if (reserved.why === 'slots-full') return SLOTS_FULL_MS
      if (reserved.why === 'outcomes-full') return TROUBLE_MS
      if (reserved.waitMs === undefined) return LONGEST_SLEEP_MS
      if (reserved.waitMs === 0) return 0 // the lanes that were read were empty, and more are due
      return reserved.why === 'startup-hold'
        ? reserved.waitMs
        : Math.max(LATE_ROUND_MS, reserved.waitMs - AHEAD_MS + ROUND_MS)
    }
    crashPoint('reserve.after')
    const { orders, left } = await decideAll(options, pools, reserved.lanes)
    const failed = await sending
    sending = addOrders(options, pools, orders).then(
      () => undefined,
      (error: Error) => error,
    )
    peek = left ? PEEK_DEEP : PEEK
    if (failed !== undefined) throw failed
    if (reserved.more || left) return 0
    return reserved.lanes.some(({ notBefore, now }) => notBefore <= now) ? LATE_ROUND_MS : ROUND_MS
  }

  const begins = outages(ledger.clock)
  const loop = async (): Promise<void> => {
    while (running) {
      let sleepMs: number
      try {
        sleepMs = await round()
        if (troubled) log.info({ partition }, 'dispatch goes on')
        troubled = false
      } catch (error) {
        if (begins()) log.warn({ partition, err: (error as Error).message }, 'dispatch waits')
        troubled = true
        sleepMs = TROUBLE_MS
      }
      if (running && sleepMs > 0) await bell.sleep(Math.min(sleepMs, LONGEST_SLEEP_MS))
    }
  }
  const done = loop()
  return {
    wake: bell.ring,
    /** whether no URL was waiting in a lane at the latest check */
    isIdle: () => isIdle,
    async stop(): Promise<void> {
      running = false
      bell.ring()
      await done
      await sending
    },
  }
}

/** @returns the orders, and whether URLs `left` their lanes without a request: then the next round follows at once */
async function decideAll(
  options: DispatchOptions,
  pools: Pools,
  lanes: ReservedLane[],
): Promise<{ orders: Order[]; left: boolean }> {
  const { ledger, partition, metrics } = options
  const decided = await Promise.all(lanes.map((lane) => decideLane(options, lane)))
  const decisions = await pools.admit(decided, lanes)
  const resolved = decisions.filter(
    ({ order, resolution: { dropped, next } }) => order === undefined || dropped.length > 0 || next.kind === 'pool',
  )
  // URLs must leave their lane before an order for the URL behind them is sent.
  const stale = await resolveAll(ledger, partition, resolved)
  if (resolved.length > 0) crashPoint('resolve.after')
  const orders = decisions.flatMap((one) => (one.order !== undefined && !stale.has(one) ? [one.order] : []))
  for (const [index, decision] of decisions.entries()) {
    const { dropped } = decision.resolution
    for (const { kind } of dropped) metrics.dropped.inc({ kind })
    if (!stale.has(decision)) recordDropped(options, dropped, lanes[index]?.urls ?? [])
  }
  return { orders, left: resolved.some(({ resolution }) => resolution.dropped.length > 0) }
}

/** @param urls  the first URLs of the lane: those that were dropped, in their order, and others */
function recordDropped({ traces }: DispatchOptions, dropped: readonly Outcome[], urls: readonly Pending[]): void {
  for (const [index, outcome] of dropped.entries()) {
    const attributes = () => ({
      'decorum.id': outcome.id,
      'decorum.outcome': outcome.kind,
      ...('reason' in outcome ? { 'decorum.outcome.reason': outcome.reason } : {}),
    })
    traces?.span('decorum.outcome', urls[index]?.request, attributes)?.end()
  }
}

async function decideLane(
  { ledger, partition, agents, robots, maxAttempts, attemptsOf, reserveMs }: DispatchOptions,
  lane: ReservedLane,
): Promise<Decision> {
  const wallNow = (): number => ledger.wall(partition)
  const agent = agents.find(lane.agent)
  const { origin, now } = lane
  const { state } = lane.robots
  if (agent === undefined) return decideUnknown(lane, wallNow)
  robots.remember(origin, state, now)
  const opens = Math.max(now, lane.notBefore)
  const found = robots.rules(agent, origin, state, opens)
  const rules = found instanceof Promise ? await found : found
  return decide(lane, agent, {
    judge: (path) => robots.judge(agent, origin, path, state, rules, opens),
    rules: rules === 'lost' ? undefined : rules,
    maxAttempts,
    reserveMs,
    ...defined({ attemptsOf }),
    wallNow,
  })
}

async function resolveAll(ledger: Ledger, partition: number, decisions: Decision[]): Promise<Set<Decision>> {
  const stale = new Set<Decision>()
  // Lanes and their outcomes count alike as items of a call, so that it stays as short as other calls.
  for (let at = 0; at < decisions.length;) {
    let items = 0
    const from = at
    while (at < decisions.length && (items === 0 || items < MAX_ITEMS))
      items += 1 + (decisions[at++]?.resolution.dropped.length ?? 0)
    const chunk = decisions.slice(from, at)
    const answers = await ledger.resolve(
      partition,
      chunk.map((one) => one.resolution),
    )
    for (const [index, answer] of answers.entries()) {
      const decision = chunk[index]
      if (answer === 'stale' && decision !== undefined) stale.add(decision)
    }
  }
  return stale
}

/** Sends the orders in jobs of up to MAX_ORDERS_PER_JOB, and smaller ones for few orders, so that every fetcher gets some. */
async function addOrders(
  { orders: queue, ledger, partition, metrics, traces, fleet }: DispatchOptions,
  pools: Pools,
  all: Order[],
): Promise<void> {
  if (all.length === 0) return
  const spans = all.map(({ request, kind, id, attempt }) =>
    traces?.span('decorum.order', request, () => ({
      'decorum.id': id,
      'decorum.kind': kind,
      'decorum.attempt': attempt,
    })),
  )
  const orders = await pools.offer(all)
  const size = ordersPerJob(orders.length, fleet())
  const now = ledger.now(partition)
  const jobs: { name: string; data: object; opts: object }[] = []
  for (let at = 0; at < orders.length; at += size) {
    const some = orders.slice(at, at + size).map((order) => writtenOrder(order, now))
    jobs.push({ name: JOB_NAMES.orders, data: { orders: some }, opts: JOB_OPTIONS })
  }
  crashPoint('orders.before-add')
  if (jobs.length > 0) await addJobs(queue, jobs)
  crashPoint('orders.after-add')
  for (const span of spans) span?.end()
  for (const { kind } of all) metrics.orders.inc({ kind })
}

/**
 * Many orders are spread over all fetchers. Few are not divided: a job costs more than an order. A job stays small compared to the slots
 * of one fetcher, because its orders cannot move to another fetcher while they wait for slots.
 */
function ordersPerJob(orders: number, { slots, fetchers }: FleetSize): number {
  const share = Math.ceil(orders / (fetchers * 2 || 1))
  const few = Math.min(FEW_ORDERS, Math.floor(slots / (fetchers || 1) / FEW_ORDERS))
  return Math.min(MAX_ORDERS_PER_JOB, Math.max(1, share, few))
}

/** BullMQ retries no job, because the lease decides about another try. Finished jobs are not kept. */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: { count: 1_000 } }
