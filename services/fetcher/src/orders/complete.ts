/** The end of an order: reports to the ledger what became of its exchange; the delays of the lane and its pace groups begin. */
import type { Agent, Agents } from '@decorum/config'
import {
  type CompleteResult,
  type Completion,
  LedgerUnavailableError,
  type Resolution,
  type RobotsRecord,
  type SiteLoad,
} from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { type Candidate, namesRobotsTxt, type Order, type Outcome } from '@decorum/protocol'
import { crashPoint, retry } from '@decorum/runtime'
import type { Lease } from './lease.ts'
import type { HeldGroups } from './pace.ts'
import type { ExchangeTools, OrdersLedger } from './tools.ts'

/** The lease of an order, and the pace groups that it holds besides. */
export type Held = { lease: Lease; groups: HeldGroups }

/** What an exchange came to, as read from its answer. */
export type Fetched = {
  /** for counting: a failure, a kind of outcome, a class of status … or 'not-sent': nothing left this machine */
  what: string
  /** of the body, for counting */
  bytes: number
  /** the last byte or the failure, on `performance.now()`: delays run from here */
  endedAt: number
  /** of the exchange, ms; absent when nothing was sent */
  tookMs?: number
  load: SiteLoad
  /** undefined: the URL stays at the head of its lane */
  outcome?: Outcome
  /** the target of a redirect, to become a candidate of its own */
  candidate?: Candidate & { id: string }
  /** of a robots fetch: the ledger's new record of the origin; absent when the answer says nothing about it */
  record?: Recorded
}

export type Recorded = {
  robots: UntimedRecord
  /** the record to write when there is no room for the body of `robots`: rules that cannot be read later must not be recorded */
  withoutBody?: UntimedRecord
}
export type UntimedRecord = Omit<RobotsRecord, 'delayMs' | 'elapsedMs'>

type CompletedOrder = Pick<Order, 'agent' | 'origin' | 'path' | 'fence' | 'delayMs' | 'kind'> & {
  /** the lane is held by a secondary lease: its URLs are not affected */
  secondary?: true
}
type Owed = { delayMs: number; elapsedMs: number; load: SiteLoad }

export async function complete(
  order: CompletedOrder,
  agent: Agent,
  { lease, groups }: Held,
  fetched: Fetched,
  tools: ExchangeTools,
): Promise<void> {
  const { ledger, stats, agents } = tools
  const { origin, fence } = order
  const { endedAt, load } = fetched
  stats.exchanged(order.kind, fetched.what, fetched.bytes)
  let groupsEnded: Promise<void> | undefined
  const handBack = (report: Report): Promise<void> => reportToLedger(lease, endedAt, tools, report)
  if (fetched.what === 'not-sent') {
    groupsEnded = groups.release('unused')
    await handBack(() => resolveUnused(order, ledger))
  } else {
    const delayMs = delayOwed(order, agent, groups, fetched)
    groupsEnded = groups.complete({ endedAt, load, delayMs }) // in the same call to the ledger where they share a partition
    const { record } = fetched
    if (record !== undefined) {
      crashPoint('record.before')
      await handBack((elapsedMs) => recordRobots(order, record, { delayMs, elapsedMs, load }, lease, tools))
      crashPoint('record.after')
    }
    if (record === undefined || order.secondary) {
      const completion = completionOf(order, fetched, load, delayMs)
      if (record === undefined) crashPoint('complete.before')
      await handBack((elapsedMs) => {
        completion.elapsedMs = elapsedMs
        return ledger.complete(completion)
      })
      if (record === undefined) crashPoint('complete.after')
    }
  }
  const isRobotsFetch = order.kind === 'robots' || namesRobotsTxt(order.path)
  if (isRobotsFetch && fetched.record === undefined) await endRobotsFetch(origin, fence, ledger, agents)
  if (groupsEnded !== undefined) await groupsEnded
}

/** A delay that this very answer asked for is owed already, to the lane and to its pace groups. */
function delayOwed(order: CompletedOrder, agent: Agent, groups: HeldGroups, { tookMs, record }: Fetched): number {
  const recorded = record?.robots.delays.find((delay) => delay.agent === order.agent)
  return Math.max(delayAfter(agent, order.delayMs, tookMs), recorded?.delayMs ?? 0, groups.owedByHopsMs)
}

function completionOf(order: CompletedOrder, fetched: Fetched, load: SiteLoad, delayMs: number): Completion {
  const { agent, origin, fence } = order
  const completion: Completion = { agent, origin, fence, delayMs, elapsedMs: 0, load }
  if (order.kind === 'robots') completion.secondary = true // no attempt of the URL at the head is counted
  if (fetched.outcome !== undefined) completion.outcome = fetched.outcome
  if (fetched.candidate !== undefined) completion.candidate = fetched.candidate
  return completion
}

/** Writes what a robots fetch has found, without the body when there is no room for it. */
async function recordRobots(
  { origin, secondary }: CompletedOrder,
  { robots, withoutBody = robots }: Recorded,
  owed: Owed,
  lease: Lease,
  { ledger, log }: ExchangeTools,
): Promise<CompleteResult> {
  // A process that was frozen for longer than its lease would record an old answer as a new one.
  if (lease.isOver()) return 'stale'
  const more = { ...owed, ...(secondary ? { withPage: true } : {}) }
  const result = await ledger.record({ ...robots, ...more })
  if (result !== 'full') return result
  log.warn(
    { origin },
    'no room for this robots.txt (ROBOTS_DOMAIN_MAX_BYTES, ROBOTS_BODIES_MAX_BYTES): it is asked for again later',
  )
  const second = await ledger.record({ ...withoutBody, ...more })
  return second === 'full' ? 'stale' : second
}

/** Nothing has left this machine: the lane is due as before, and its URL has not been tried. */
async function resolveUnused({ agent, origin, fence }: CompletedOrder, ledger: OrdersLedger): Promise<CompleteResult> {
  const resolution: Resolution = { agent, origin, fence, dropped: [], next: { kind: 'unused' } }
  return (await ledger.resolve(ledger.partitionOf(origin), [resolution]))[0] ?? 'stale'
}

/** Wakes the lanes that wait for the robots fetch of an origin. Never rejects: a robots fetch also ends by itself. */
export async function endRobotsFetch(
  origin: string,
  fence: number,
  ledger: Pick<OrdersLedger, 'endRobotsFetch'>,
  agents: Agents,
): Promise<void> {
  await ledger.endRobotsFetch({ origin, fence, agents: agents.list.map(({ key }) => key) }).catch(() => {})
}

type Report = (elapsedMs: number) => Promise<CompleteResult>

/** Between two tries to report to a ledger that does not answer. */
const TELL_AGAIN_MS = 250

/** Reports to the ledger until it answers or the lease is over. The fence makes a repeated report harmless. */
async function reportToLedger(
  lease: Lease,
  endedAt: number,
  { stats }: Pick<ExchangeTools, 'stats'>,
  report: Report,
): Promise<void> {
  let isFirst = true
  const result = await retry(
    () => report(Math.max(0, performance.now() - endedAt)),
    TELL_AGAIN_MS,
    (error) => {
      if (!(error instanceof LedgerUnavailableError)) throw error
      stats.unheard++
      isFirst = false
      return !lease.isOver()
    },
  )
  if (result === 'stale' && isFirst) stats.stale++ // after a lost reply, 'stale' is what a success looks like
}
