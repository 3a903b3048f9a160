/**
 * Workers of pools that wait for orders: first come, first served. The gateways put orders into a list for each pool, as many as the
 * workers have recently requested at once; this file takes them out, starts them, and hands them to waiting workers.
 */

import { LedgerUnavailableError, type PoolDemand } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { headersFor } from '@decorum/sending'
import { type Caller, GoneError, MOST_WAITING, mayBe, Problem, type Token } from '@decorum/sending/granting'
import type { Desk } from './desk.ts'
import { type StartedOrder, startOrder } from './order-start.ts'
import type { OrderGiven } from './schemas.ts'

/**
 * Shortest and longest time between checks of the lists while a worker waits. It doubles while they are empty; the longest is no more than
 * the time by which gateways reserve ahead (AHEAD_MS).
 */
const CHECK_MS = 20
const LONGEST_CHECK_MS = 80
/** A worker's requested number is remembered this long: a busy worker calls again later. */
const REMEMBER_MS = 60_000

type Worker = {
  max: number
  isDone: boolean
  give(orders: StartedOrder[]): void
  fail(error: unknown): void
}
type Pool = {
  name: string
  workers: Set<Worker>
  serving: boolean
  peaks: { at: number; wanted: number }[]
}

export class Pools {
  readonly #desk: Desk
  readonly #clock: Clock
  readonly #pools = new Map<string, Pool>()
  /** announces the demand to the gateways at once */
  onDemand: () => void = () => undefined

  constructor(desk: Desk) {
    this.#desk = desk
    this.#clock = desk.ledger.clock
  }

  get waiting(): number {
    let waiting = 0
    for (const { workers } of this.#pools.values()) waiting += workers.size
    return waiting
  }

  /** This process's announcement of its workers; undefined: there are none. */
  demand(): Record<string, PoolDemand> | undefined {
    const now = this.#clock.monotonic()
    const demands: Record<string, PoolDemand> = {}
    for (const pool of this.#pools.values()) {
      pool.peaks = pool.peaks.filter(({ at }) => now - at < REMEMBER_MS)
      const wanted = Math.max(wantedNow(pool), ...pool.peaks.map((peak) => peak.wanted))
      if (wanted > 0) demands[pool.name] = { wanted }
    }
    return Object.keys(demands).length === 0 ? undefined : demands
  }

  /**
   * @param max     most orders, each of a different lane
   * @param waitMs  how long to wait for the first one
   * @throws Problem · LedgerUnavailableError · GoneError when the worker has closed its connection
   */
  async request(name: string, max: number, waitMs: number, token: Token, caller: Caller): Promise<OrderGiven[]> {
    const pool = await this.#poolOf(name, token)
    await this.#desk.ids.ready()
    if (caller.isGone) throw new GoneError()
    if (this.waiting >= MOST_WAITING)
      throw new Problem('busy', `${this.waiting} workers wait already`, { retryAfterMs: 1_000 })
    const { promise, resolve: give, reject: fail } = Promise.withResolvers<StartedOrder[]>()
    const end = (answer: () => void): void => {
      if (worker.isDone) return
      worker.isDone = true
      this.#clock.cancel(timer)
      pool.workers.delete(worker)
      answer()
    }
    const worker: Worker = {
      max,
      isDone: false,
      give: (orders) => end(() => give(orders)),
      fail: (error) => end(() => fail(error)),
    }
    const timer = this.#clock.timeout(() => worker.give([]), waitMs)
    caller.onGone = () => worker.fail(new GoneError())
    pool.workers.add(worker)
    this.#noteDemand(pool)
    void this.#serve(pool)
    const started = await promise
    // As with permits, leases that began too long ago in the ledger are not handed out: the worker would rely on them beyond their end.
    const late = started.filter(({ since }) => this.#desk.isTooLate(since))
    for (const { leases } of late) void this.#desk.giveBack(leases)
    const good = started.filter((order) => !late.includes(order))
    return Promise.all(good.map((order) => this.#given(order, token)))
  }

  /** Releases orders whose answer did not reach the worker. */
  async releaseUndelivered(orders: OrderGiven[]): Promise<void> {
    for (const { permit: id } of orders) {
      const permit = await this.#desk.ids.read(id)
      if (permit !== undefined) await this.#desk.giveBack(permit)
    }
  }

  /** @throws Problem · LedgerUnavailableError */
  async #poolOf(name: string, token: Token): Promise<Pool> {
    const { config } = this.#desk
    // The settings of crawls are read only once a second, and a worker may call right after its crawl was given the pool.
    if (!this.#pools.has(name) && !this.#isOfCrawl(name)) await this.#desk.ledger.crawlBook.refresh()
    const ofCrawl = this.#isOfCrawl(name)
    const agents = config.agents.list.filter(({ pool }) => ofCrawl || pool === name) // a crawl has URLs of all agents
    if (agents.length === 0) throw new Problem('not-found', `no agent and no crawl of this fleet names a pool ${name}`)
    const { pools, crawls } = token
    if (pools === undefined ? crawls !== undefined : !pools.includes(name))
      throw new Problem('forbidden', `this token is not for the pool ${name}`)
    const other = agents.find(({ key }) => !mayBe(token, key))
    if (other !== undefined) throw new Problem('forbidden', `this token is not for the agent ${other.name}`)
    const pool = this.#pools.get(name) ?? { name, workers: new Set(), serving: false, peaks: [] }
    this.#pools.set(name, pool)
    return pool
  }

  #isOfCrawl(name: string): boolean {
    const { crawlBook } = this.#desk.ledger
    return [...crawlBook.names()].some((crawl) => crawlBook.recordOf(crawl).settings?.pool === name)
  }

  #noteDemand(pool: Pool): void {
    const known = Math.max(0, ...pool.peaks.map(({ wanted }) => wanted))
    const wanted = wantedNow(pool)
    pool.peaks = [...pool.peaks.filter((peak) => peak.wanted > wanted), { at: this.#clock.monotonic(), wanted }]
    if (wanted > known) this.onDemand()
  }

  async #serve(pool: Pool): Promise<void> {
    if (pool.serving) return
    pool.serving = true
    try {
      for (let checkMs = CHECK_MS; pool.workers.size > 0;) {
        const found = await this.#check(pool)
        if (found) checkMs = CHECK_MS
        else if (pool.workers.size > 0) {
          await this.#clock.sleep(checkMs)
          checkMs = Math.min(2 * checkMs, LONGEST_CHECK_MS)
        }
      }
    } catch (error) {
      for (const worker of [...pool.workers]) worker.fail(error)
    } finally {
      pool.serving = false
    }
  }

  /** Checks the lists of all partitions once. @returns whether an order was there */
  async #check(pool: Pool): Promise<boolean> {
    const { ledger, pages } = this.#desk
    let found = false
    if (!pages.hasRoom()) return false
    for (const partition of ledger.tags.keys()) {
      const [first] = pool.workers
      if (first === undefined) break
      const texts = await ledger.pool(partition, pool.name).take(first.max)
      if (texts.length === 0) continue
      found = true
      const answers = await Promise.allSettled(texts.map((text) => startOrder(text, pool.name, this.#desk)))
      const started = answers.flatMap((one) =>
        one.status === 'fulfilled' && one.value !== undefined ? [one.value] : [],
      )
      await this.#deal(pool, started)
      for (const one of answers)
        if (one.status === 'rejected' && !(one.reason instanceof LedgerUnavailableError)) throw one.reason
    }
    return found
  }

  /** Hands orders to waiting workers, first come, first served. An order without a waiting worker is released. */
  async #deal(pool: Pool, started: StartedOrder[]): Promise<void> {
    let left = started
    for (const worker of [...pool.workers]) {
      if (left.length === 0) return
      worker.give(left.slice(0, worker.max))
      left = left.slice(worker.max)
    }
    for (const { leases } of left) await this.#desk.giveBack(leases)
  }

  async #given({ order, leases, since }: StartedOrder, token: Token): Promise<OrderGiven> {
    const desk = this.#desk
    const { id, origin, path, delayMs, attempt, request, meta } = order
    const agent = desk.agentOf(order.agent, token)
    return {
      permit: await desk.ids.write({ ...leases, holder: token.name, grantedAt: desk.now(leases) }),
      id,
      url: origin + path,
      agent: agent.name,
      method: request?.method ?? 'GET',
      headers: headersFor(agent, request),
      sendWithinMs: desk.sendWithinMs(since, desk.longestLeaseMs),
      leaseMs: desk.longestLeaseMs,
      delayMs,
      attempt,
      maxBytes: Math.min(desk.config.PAGE_MAX_BYTES, request?.maxBytes ?? Infinity),
      ...defined({ deadlineMs: request?.deadlineMs, accept: request?.accept, meta }),
    }
  }
}

const wantedNow = ({ workers }: Pool): number => [...workers].reduce((sum, { max }) => sum + max, 0)
