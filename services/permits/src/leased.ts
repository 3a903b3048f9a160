/** What a holder does with a permit that it has: complete it, give it back, extend it, look at it. */
import type { Agent } from '@decorum/config'
import type { Pending } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { DEFAULT_CRAWL, namesRobotsTxt, type Outcome } from '@decorum/protocol'
import { sinceNow } from '@decorum/runtime'
import { confirm, endExchange, endUnused, extend, headersFor, lanesOf } from '@decorum/sending'
import type { z } from 'zod'
import type { Token } from './config.ts'
import { type Desk, tooLate } from './desk.ts'
import { type Ended, leasesOf, loadOf } from './end.ts'
import type { OrderOfPermit, Permit } from './permit-id.ts'
import { Problem } from './problem.ts'
import { readBody } from './read-body.ts'
import { CompletionBody, type HeldAnswer, orderCompletionBody } from './schemas.ts'
import { traceOrder } from './traced.ts'

type Held = z.output<typeof HeldAnswer>
/** The exchange of this permit has ended; its lane keeps this delay. */
export type OnEnded = (permit: Permit, delayMs: number) => void

export class Holding {
  readonly #desk: Desk
  readonly #onEnded: OnEnded

  constructor(desk: Desk, onEnded: OnEnded) {
    this.#desk = desk
    this.#onEnded = onEnded
  }

  /**
   * @param body  what the request carried
   * @throws Problem · LedgerUnavailableError
   */
  async complete(id: string, body: unknown, token: Token): Promise<Ended> {
    const desk = this.#desk
    const permit = await desk.read(id, token)
    if (desk.endOf(id) === 'completed') return 'completed'
    const heldMs = Math.max(0, desk.now(permit) - permit.grantedAt)
    const agent = desk.config.agents.find(permit.agent)
    const delayOf = (tookMs = heldMs): number =>
      agent === undefined ? permit.delayMs : delayAfter(agent, permit.delayMs, Math.min(tookMs, heldMs))
    const { delayMs, trace, awaitedBy, ...end } =
      permit.order === undefined
        ? plainEnd(readBody(CompletionBody, body), desk.ledger.wall(desk.ledger.partitionOf(permit.origin)), delayOf)
        : await this.#endOfOrder(id, permit, permit.order, body, heldMs, delayOf)
    // The delay starts when the completion arrives, because an earlier end cannot be checked.
    const happened = { ...end, endedAt: performance.now(), adaptiveMs: delayMs }
    if ((await endExchange(desk.ledger, leasesOf(permit, awaitedBy), happened)) === 'stale') throw desk.gone(id)
    desk.note(id, 'completed')
    trace?.()
    this.#onEnded(permit, delayMs)
    return 'completed'
  }

  async #endOfOrder(
    id: string,
    permit: Permit,
    { pool, attempt, priority, crawl }: OrderOfPermit,
    body: unknown,
    heldMs: number,
    delayOf: (tookMs?: number) => number,
  ) {
    const { ledger, config } = this.#desk
    const said = readBody(orderCompletionBody(config.PAGE_MAX_BYTES), body)
    // Loaded with the first answer of a pool: what reads pages takes 60 ms of CPU and 18 MB, and most fleets have no pool
    const { endOfOrder } = await import('./order-end.ts')
    const agent = config.agents.find(permit.agent)
    // It stays first in its lane until this lease ends; by the fence it is known whether the lease is still in force.
    const pending = await ledger.firstUrlOf(permit, priority, crawl)
    if (pending === undefined || agent === undefined) throw this.#desk.gone(id)
    const now = ledger.wall(ledger.partitionOf(permit.origin))
    // Only of a request that may be made again does it matter how often its crawl has it made
    if (said.status !== 200) await ledger.crawlBook.look()
    const own = ledger.crawlBook.recordOf(pending.crawl ?? DEFAULT_CRAWL).settings?.attempts ?? config.MAX_ATTEMPTS
    const maxAttempts = Math.min(own, config.MAX_ATTEMPTS)
    const { origin, fence } = permit
    const order = { ...pending, origin, fence, attempt }
    const about = { order, agent, maxAttempts, now: () => now, heldMs }
    const end = endOfOrder(said, about)
    await this.#keep(permit, pending, agent, said.body, end.outcome)
    const trace = (): void => traceOrder(this.#desk.traces, pool, about, end)
    const awaitedBy = namesRobotsTxt(pending.path) ? config.agents.list.map(({ key }) => key) : undefined
    return { ...end, delayMs: delayOf(said.tookMs), trace, awaitedBy }
  }

  /** Keeps the body that was handed over, before the outcome is written, which then says where. */
  async #keep(permit: Permit, pending: Pending, agent: Agent, body: Buffer | undefined, outcome: Outcome | undefined) {
    const { config, pages } = this.#desk
    if (body === undefined || outcome?.kind !== 'fetched' || outcome.archive !== undefined) return
    if (config.HONOUR_NOARCHIVE === 'yes' && outcome.says?.robots?.includes('noarchive')) return
    const { id, path, meta, request } = pending
    const { status, headers, truncated, startedAt, ms, address } = outcome
    const about = { origin: permit.origin, path, id, agent, ...(meta === undefined ? {} : { meta }) }
    const requestHeaders = headersFor(agent, request)
    const ref = await pages.keep({ ...about, requestHeaders, status, headers, body, truncated, startedAt, ms, address })
    if (ref !== undefined) outcome.archive = ref
  }

  /** @throws Problem · LedgerUnavailableError */
  async unused(id: string, token: Token): Promise<Ended> {
    const desk = this.#desk
    const permit = await desk.read(id, token)
    if (desk.endOf(id) === 'unused') return 'unused'
    // That nothing was sent cannot be checked, so the delays are kept in any case.
    if ((await endUnused(desk.ledger, leasesOf(permit))) === 'stale') throw desk.gone(id)
    desk.note(id, 'unused')
    this.#onEnded(permit, permit.delayMs)
    return 'unused'
  }

  /** @throws Problem · LedgerUnavailableError */
  async extend(id: string, asked: number | undefined, token: Token): Promise<Held> {
    const desk = this.#desk
    const permit = await desk.read(id, token)
    const { agent, origin, order } = permit
    const leftMs = permit.grantedAt + desk.config.PERMIT_MAX_MS - desk.now(permit)
    const leaseMs = Math.floor(Math.min(asked ?? desk.longestLeaseMs, desk.longestLeaseMs, leftMs))
    if (leaseMs <= 0)
      throw new Problem('gone', `a permit lasts ${desk.config.PERMIT_MAX_MS} ms at most, however often it is extended`)
    const since = sinceNow()
    const answer = await extend(desk.ledger, leasesOf(permit), leaseMs + desk.marginMs)
    if (answer.kind === 'stale') throw desk.gone(id)
    const stop = answer.stop ?? (await desk.stopAt(permit))
    if (desk.isTooLate(since)) throw tooLate()
    if (stop !== undefined) return { permit: id, agent, origin, leaseMs, stop }
    const sendWithinMs = desk.sendWithinMs(since, leaseMs)
    return { permit: id, agent, origin, leaseMs, ...(order === undefined ? {} : { sendWithinMs }) }
  }

  /** @throws Problem · LedgerUnavailableError */
  async view(id: string, token: Token): Promise<Held> {
    const desk = this.#desk
    const permit = await desk.read(id, token)
    const { agent, origin } = permit
    const gate = await confirm(desk.ledger, lanesOf(leasesOf(permit)))
    if (gate === 'stale') throw desk.gone(id)
    const stop = gate ?? (await desk.stopAt(permit))
    return { permit: id, agent, origin, ...(stop === undefined ? {} : { stop }) }
  }
}

function plainEnd(said: z.output<typeof CompletionBody>, wall: number, delayOf: (tookMs?: number) => number) {
  return { load: loadOf(said, wall), delayMs: delayOf(said.tookMs), trace: undefined, awaitedBy: undefined }
}
