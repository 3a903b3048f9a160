/**
 * ③④ The journey on one screen: lanes that are due → the gate → orders. One loop per partition; it sleeps until the next
 * lane opens, or until the ledger says that one has become due earlier.
 */

import type { Agents } from '@decorum/config'
import { type Ledger, MAX_ITEMS, type ReservedLane, type ReserveResult } from '@decorum/ledger'
import { JOB_NAMES, MAX_ORDERS_PER_JOB, type Order, writtenOrder } from '@decorum/protocol'
import { crashPoint } from '@decorum/runtime'
import type { Queue } from 'bullmq'
import type { Logger } from 'pino'
import { alarm } from './alarm.ts'
import { type Decision, decide, decideUnknown } from './decide.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { RobotsGate } from './robots-gate.ts'
import { shareOf } from './shares.ts'

/** Lanes that open this soon are handed out already: their orders reach a slot by the time they open. */
const AHEAD_MS = 15
/** Dispatch rounds gather what opens within this, instead of waking for each lane. */
const ROUND_MS = 5
/** Longest sleep: a lost wake-up costs no more than this. */
const LONGEST_SLEEP_MS = 1_000
/** Slots are taken up faster than anyone could be told. */
const SLOTS_FULL_MS = 5
/** Redis is away, or readers are behind. */
const TROUBLE_MS = 500
/** URLs shown per lane: one as long as nothing leaves without a request, more when many do. */
const PEEK = 1
const PEEK_DEEP = 50
/** A take that had no answer in time is tried again for so many times fewer lanes; each that is full asks for one more. */
const SHRINK = 4

export type DispatchOptions = {
  ledger: Ledger
  partition: number
  orders: Queue
  agents: Agents
  gate: RobotsGate
  metrics: GatewayMetrics
  log: Logger
  maxAttempts: number
  /** fetch slots of the fleet, and fetchers that share them, as far as they have announced themselves */
  fleet: () => { slots: number; fetchers: number }
}

export type Dispatch = { wake(): void; stop(): Promise<void> }

export function startDispatch(options: DispatchOptions): Dispatch {
  const { ledger, partition, log, metrics, fleet } = options
  const bell = alarm()
  let running = true
  let troubled = false
  let peek = PEEK
  let limit = MAX_ITEMS

  /** What the link cannot carry in time is asked for in smaller pieces, until they arrive. */
  const reserve = async (inFlightLimit: number): Promise<ReserveResult> => {
    try {
      const taken = await ledger.reserve(partition, { limit, aheadMs: AHEAD_MS, inFlightLimit, peek })
      if (taken.kind === 'reserved' && taken.lanes.length >= limit) limit = Math.min(MAX_ITEMS, limit + 1)
      return taken
    } catch (error) {
      limit = Math.max(1, Math.floor(limit / SHRINK))
      peek = PEEK
      throw error
    }
  }

  /** Orders go out while the next lanes are taken: one batch on its way; resolves with the error that stopped it. */
  let goingOut: Promise<Error | undefined> = Promise.resolve(undefined)

  const round = async (): Promise<number> => {
    const { slots } = fleet()
    if (slots === 0) return LONGEST_SLEEP_MS // nobody could fetch: an order would only grow old
    const inFlightLimit = shareOf(slots * 2, partition, ledger.inFlight())
    const taken = await reserve(inFlightLimit)
    if (taken.kind === 'wait') {
      metrics.waits.inc({ why: taken.why })
      if (taken.why === 'slots-full') return SLOTS_FULL_MS
      if (taken.why === 'outcomes-full') return TROUBLE_MS
      if (taken.waitMs === undefined) return LONGEST_SLEEP_MS
      if (taken.waitMs === 0) return 0 // what was looked at had run down and is gone; more is due behind it
      return taken.why === 'startup-hold' ? taken.waitMs : Math.max(ROUND_MS, taken.waitMs - AHEAD_MS + ROUND_MS)
    }
    crashPoint('reserve.after')
    const { orders, left } = await decideAll(options, taken.lanes)
    const failed = await goingOut
    goingOut = addOrders(options, orders).then(
      () => undefined,
      (error: Error) => error,
    )
    peek = left ? PEEK_DEEP : PEEK
    if (failed !== undefined) throw failed
    return taken.more || left ? 0 : ROUND_MS
  }

  const loop = async (): Promise<void> => {
    while (running) {
      let sleepMs: number
      try {
        sleepMs = await round()
        if (troubled) log.info({ partition }, 'dispatch goes on')
        troubled = false
      } catch (error) {
        if (!troubled) log.warn({ partition, err: (error as Error).message }, 'dispatch waits')
        troubled = true
        sleepMs = TROUBLE_MS
      }
      if (running && sleepMs > 0) await bell.sleep(Math.min(sleepMs, LONGEST_SLEEP_MS))
    }
  }
  const done = loop()
  return {
    wake: bell.ring,
    async stop() {
      running = false
      bell.ring()
      await done
      await goingOut
    },
  }
}

/** @returns what may be ordered, and whether URLs `left` their lanes without a request: then there is more to do at once */
async function decideAll(options: DispatchOptions, lanes: ReservedLane[]): Promise<{ orders: Order[]; left: boolean }> {
  const { ledger, partition, metrics } = options
  const decisions = await Promise.all(lanes.map((lane) => decideLane(options, lane)))
  const words = decisions.filter((one) => one.order === undefined || one.resolution.dropped.length > 0)
  // Heads must have left before an order speaks of the one behind them.
  const stale = await resolveAll(ledger, partition, words)
  if (words.length > 0) crashPoint('resolve.after')
  const orders = decisions.flatMap((one) => (one.order !== undefined && !stale.has(one) ? [one.order] : []))
  for (const { resolution } of decisions) for (const { kind } of resolution.dropped) metrics.dropped.inc({ kind })
  return { orders, left: words.some(({ resolution }) => resolution.dropped.length > 0) }
}

async function decideLane({ agents, gate, maxAttempts }: DispatchOptions, lane: ReservedLane): Promise<Decision> {
  const agent = agents.find(lane.agent)
  const { origin, now } = lane
  const { state } = lane.robots
  if (agent === undefined) return decideUnknown(lane, Date.now)
  gate.note(origin, state, now)
  const opens = Math.max(now, lane.notBefore)
  const found = gate.rules(agent, origin, state, opens)
  const rules = found instanceof Promise ? await found : found
  return decide(lane, agent, {
    judge: (path) => gate.judge(agent, origin, path, state, rules, opens),
    rules: rules === 'lost' ? undefined : rules,
    maxAttempts,
    wallNow: Date.now,
  })
}

async function resolveAll(ledger: Ledger, partition: number, words: Decision[]): Promise<Set<Decision>> {
  const stale = new Set<Decision>()
  // A call carries outcomes as well as lanes: keep it as short as any other
  for (let at = 0; at < words.length; ) {
    let items = 0
    const from = at
    while (at < words.length && (items === 0 || items < MAX_ITEMS))
      items += 1 + (words[at++]?.resolution.dropped.length ?? 0)
    const chunk = words.slice(from, at)
    const answers = await ledger.resolve(
      partition,
      chunk.map((one) => one.resolution),
    )
    for (const [index, answer] of answers.entries()) {
      const word = chunk[index]
      if (answer === 'stale' && word !== undefined) stale.add(word)
    }
  }
  return stale
}

/** In jobs of up to 20, smaller when they are few: so that every fetcher gets some. */
async function addOrders(
  { orders: queue, ledger, partition, metrics, fleet }: DispatchOptions,
  orders: Order[],
): Promise<void> {
  if (orders.length === 0) return
  const share = Math.ceil(orders.length / (fleet().fetchers * 2 || 1))
  const size = Math.min(MAX_ORDERS_PER_JOB, Math.max(1, share))
  const now = ledger.now(partition)
  const jobs: { name: string; data: object; opts: object }[] = []
  for (let at = 0; at < orders.length; at += size) {
    const some = orders.slice(at, at + size).map((order) => writtenOrder(order, now))
    jobs.push({ name: JOB_NAMES.orders, data: { orders: some }, opts: JOB_OPTIONS })
  }
  crashPoint('orders.before-add')
  await queue.addBulk(jobs)
  crashPoint('orders.after-add')
  for (const { kind } of orders) metrics.orders.inc({ kind })
}

/** The lease is the only authority on retries; a finished job is nobody's memory. */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: { count: 1_000 } }
