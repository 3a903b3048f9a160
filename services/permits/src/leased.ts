/** Operations of a holder on its permit: complete, release, extend, read. */

import type { Agent } from '@decorum/config'
import type { Ledger, Pending } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { DEFAULT_CRAWL, namesRobotsTxt, type Outcome } from '@decorum/protocol'
import { defined, sinceNow } from '@decorum/runtime'
import { confirm, endExchange, endUnused, extend, headersFor, lanesOf } from '@decorum/sending'
import { Problem, type Token } from '@decorum/sending/granting'
import { type Desk, tooLate } from './desk.ts'
import { acceptedOf, leasesOf, loadOf } from './end.ts'
import type { OrderOfPermit, Permit } from './permit-id.ts'
import { readBody } from './read-body.ts'
import { CompletionBody, type Ended, type HeldAnswer, orderCompletionBody } from './schemas.ts'
import { traceOrder } from './traced.ts'

/** Operations on a permit; all throw Problem · LedgerUnavailableError. */
export type Holding = {
  /** @param body  the body of the request */
  complete(id: string, body: unknown, token: Token): Promise<Ended>
  unused(id: string, token: Token): Promise<Ended>
  extend(id: string, requested: number | undefined, token: Token): Promise<HeldAnswer>
  view(id: string, token: Token): Promise<HeldAnswer>
}

/** @param onEnded  called when the exchange of this permit has ended; its lane owes this delay */
export function openHolding(desk: Desk, onEnded: (permit: Permit, delayMs: number) => void): Holding {
  const { ledger, config } = desk
  return {
    async complete(id, body, token) {
      const permit = await desk.read(id, token)
      const before = desk.endOf(id)
      if (before === 'completed') return before
      if (before !== undefined) throw desk.gone(id)
      const heldMs = Math.max(0, desk.now(permit) - permit.grantedAt)
      const agent = config.agents.find(permit.agent)
      const {
        tookMs = heldMs,
        trace,
        awaitedBy,
        ...end
      } = permit.order === undefined
        ? plainEnd(readBody(CompletionBody, body))
        : await endOfOrder(permit, permit.order, body, heldMs, desk)
      const delayMs = agent === undefined ? permit.delayMs : delayAfter(agent, permit.delayMs, Math.min(tookMs, heldMs))
      // The delay starts when the completion arrives, because an earlier end cannot be verified. A wait that the site asked for starts when
      // the permit must have ended (PERMIT_MAX_MS) at the latest, because an old completion may be repeated at any time.
      const overMs = Math.max(0, heldMs - config.PERMIT_MAX_MS)
      const load = acceptedOf(end.load, token, ledger.wall(ledger.partitionOf(permit.origin)) - overMs)
      const reportLate: Ledger['reportLate'] = (late) =>
        ledger.reportLate({ ...late, elapsedMs: late.elapsedMs + overMs })
      const happened = {
        ...end,
        tookMs: Math.min(tookMs, heldMs),
        load,
        endedAt: ledger.clock.monotonic(),
        adaptiveMs: delayMs,
      }
      const ended = await endExchange({ ...ledger, reportLate }, leasesOf(permit, awaitedBy), happened)
      if (ended === 'stale') throw desk.gone(id)
      desk.note(id, 'completed')
      trace?.()
      onEnded(permit, delayMs)
      return 'completed'
    },

    async unused(id, token) {
      const permit = await desk.read(id, token)
      if (desk.endOf(id) === 'unused') return 'unused'
      // It cannot be verified that nothing was sent, so the delays are kept in any case.
      if ((await endUnused(ledger, leasesOf(permit))) === 'stale') throw desk.gone(id)
      desk.note(id, 'unused')
      onEnded(permit, permit.delayMs)
      return 'unused'
    },

    async extend(id, requested, token) {
      const permit = await desk.read(id, token)
      const { agent, origin, order } = permit
      const leftMs = permit.grantedAt + config.PERMIT_MAX_MS - desk.now(permit)
      const leaseMs = Math.floor(Math.min(requested ?? desk.longestLeaseMs, desk.longestLeaseMs, leftMs))
      if (leaseMs <= 0)
        throw new Problem('gone', `a permit lasts ${config.PERMIT_MAX_MS} ms at most, however often it is extended`)
      const since = sinceNow(ledger.clock)
      const answer = await extend(ledger, leasesOf(permit), leaseMs + desk.marginMs)
      if (answer.kind === 'stale') throw desk.gone(id)
      const stop = answer.stop ?? (await desk.stopAt(permit))
      if (desk.isTooLate(since)) throw tooLate()
      if (stop !== undefined) return { permit: id, agent, origin, leaseMs, stop }
      const sendWithinMs = desk.sendWithinMs(since, leaseMs)
      return { permit: id, agent, origin, leaseMs, ...(order && { sendWithinMs }) }
    },

    async view(id, token) {
      const permit = await desk.read(id, token)
      const { agent, origin } = permit
      const gate = await confirm(ledger, lanesOf(leasesOf(permit)))
      if (gate === 'stale') throw desk.gone(id)
      const stop = gate ?? (await desk.stopAt(permit))
      return { permit: id, agent, origin, ...defined({ stop }) }
    },
  }
}

function plainEnd(report: CompletionBody) {
  return { load: loadOf(report), tookMs: report.tookMs, trace: undefined, awaitedBy: undefined }
}

async function endOfOrder(
  permit: Permit,
  { pool, attempt, priority, crawl, id: ofOrder }: OrderOfPermit,
  body: unknown,
  heldMs: number,
  desk: Desk,
) {
  const { ledger, config } = desk
  const report = readBody(orderCompletionBody(config.PAGE_MAX_BYTES), body)
  // Loaded with the first completion of a pool: the page reader takes 60 ms of CPU and 18 MB, and most fleets have no pool
  const { endOfOrder, loadOfReport } = await import('./order-end.ts')
  const agent = config.agents.find(permit.agent)
  // The URL stays first in its lane until this lease ends. If it is not first, only the reported load is used.
  const pending = await ledger.firstUrlOf(permit, priority, crawl)
  if (pending === undefined || pending.id !== (ofOrder ?? pending.id) || agent === undefined)
    return { load: loadOfReport(report), tookMs: report.tookMs, trace: undefined, awaitedBy: undefined }
  const { origin, fence } = permit
  const now = ledger.wall(ledger.partitionOf(origin))
  // The crawl's limit of attempts matters only if the request may be repeated
  if (report.status !== 200) await ledger.crawlBook.refresh()
  const own = ledger.crawlBook.recordOf(pending.crawl ?? DEFAULT_CRAWL).settings?.attempts ?? config.MAX_ATTEMPTS
  const maxAttempts = Math.min(own, config.MAX_ATTEMPTS)
  const about = { order: { ...pending, origin, fence, attempt }, agent, maxAttempts, now: () => now, heldMs }
  const end = endOfOrder(report, about)
  await keepPage(origin, pending, agent, report.body, end.outcome, desk)
  const trace = (): void => traceOrder(ledger.clock, desk.traces, pool, about, end)
  const awaitedBy = namesRobotsTxt(pending.path) ? config.agents.list.map(({ key }) => key) : undefined
  return { ...end, tookMs: report.tookMs, trace, awaitedBy }
}

/** Keeps the body that the worker sent. The outcome contains the reference, so it is written afterwards. */
async function keepPage(
  origin: string,
  { id, path, meta, request }: Pending,
  agent: Agent,
  body: Buffer | undefined,
  outcome: Outcome | undefined,
  { pages }: Desk,
): Promise<void> {
  if (body === undefined || outcome?.kind !== 'fetched' || outcome.archive !== undefined) return
  if (outcome.unchanged) return // a 304 has no page
  if (agent.honourNoarchive && outcome.says?.robots?.includes('noarchive')) return
  const { status, headers, truncated, startedAt, ms, address } = outcome
  const answer = { status, headers, body, truncated, startedAt, ms, address }
  const requestHeaders = headersFor(agent, request)
  const ref = await pages.keep({ origin, path, id, agent, requestHeaders, meta, ...answer })
  if (ref !== undefined) outcome.archive = ref
}
