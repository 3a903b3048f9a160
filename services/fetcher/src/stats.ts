/** Counters of this process: plain numbers, since every order changes some, exported to Prometheus on request. */

import { BUILD } from '@decorum/config/fleet-config'
import type { Shares } from '@decorum/politeness'
import { systemClock } from '@decorum/protocol'
import { counterOf, gaugeOf, gaugesOf, ledgerMetrics, processMetrics } from '@decorum/runtime'
import { Histogram, Registry } from '@decorum/runtime/prometheus'
import type { StartRefusal, Unused } from '@decorum/sending'

/** Reasons for an order that sent nothing. */
export type Refusal = StartRefusal | Unused['why'] | 'stopping' | 'paced' | 'unknown-agent' | 'egress' | 'share'

export type Stats = ReturnType<typeof openStats>

/** Buckets, s: lanes are due to the millisecond; if orders are late by more than a second, the fetcher has too few slots. */
const LATENESS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30]
/** Buckets up to the usual deadline, 30 s, and beyond. */
const FETCH_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Most crawls, tokens and domains with a label in the metrics. */
const MOST_SHARES = 20

/** @param slots  slots of the fetcher, read whenever the metrics are read */
export function openStats(slots: {
  readonly size: number
  readonly taken: number
  readonly waiting: number
  readonly shares?: Pick<Shares, 'most'>
}) {
  const registry = new Registry()
  const refusals = new Map<string, number>()
  const exchanges = { page: new Map<string, number>(), robots: new Map<string, number>() }
  let bytes = 0
  let sinkFailures = 0
  let sinkLoggedAt = 0
  const histogram = <T extends string>(name: string, help: string, buckets: number[], labelNames: T[]) =>
    new Histogram({ name: `decorum_fetcher_${name}`, help, buckets, labelNames, registers: [registry] })
  const lateness = histogram(
    'lateness_seconds',
    'from when a lane was due, or its order came, to its lease',
    LATENESS,
    [],
  )
  const durations = histogram('fetch_seconds', 'from the lease to the end of the exchange', FETCH_SECONDS, ['kind'])
  const durationsOf = { page: durations.labels('page'), robots: durations.labels('robots') }
  const stats = {
    /** how long a due order waited here until its lease was started, ms */
    late: (ms: number) => lateness.observe(ms / 1_000),
    /** how long the lease of an exchange was held, ms */
    took: (kind: 'page' | 'robots', ms: number) => durationsOf[kind].observe(ms / 1_000),
    /** to be passed to `openLedger` */
    onCall: ledgerMetrics(registry),
    /** version of the configuration that this process uses */
    configVersion: undefined as number | undefined,
    started: 0,
    ended: 0,
    stale: 0,
    unheard: 0,
    broken: 0,
    badJobs: 0,
    badOrders: 0,
    registry,
    refused: (why: Refusal) => void refusals.set(why, (refusals.get(why) ?? 0) + 1),
    exchanged(kind: 'page' | 'robots', what: string, size: number): void {
      exchanges[kind].set(what, (exchanges[kind].get(what) ?? 0) + 1)
      bytes += size
    },
    sinkFailed(error: unknown, log: { error(fields: object, message: string): void }): void {
      sinkFailures++
      if (systemClock.monotonic() - sinkLoggedAt < 10_000 && sinkFailures > 1) return // a full disk is logged only now and then
      sinkLoggedAt = systemClock.monotonic()
      log.error({ err: error, failures: sinkFailures }, 'a page could not be kept; its outcome has no reference')
    },
  }

  processMetrics(registry, BUILD, () => stats.configVersion)
  const gauge = gaugeOf.bind(undefined, registry)
  const counter = counterOf.bind(undefined, registry)
  gauge('decorum_fetcher_slots', 'requests that may run at once', () => slots.size)
  gauge('decorum_fetcher_slots_used', 'slots taken', () => slots.taken)
  const help = 'slots by crawl, permit token, domain and kind of order: those that hold most'
  gaugesOf(registry, 'decorum_fetcher_share_slots', help, 'group', () =>
    (slots.shares?.most(MOST_SHARES) ?? []).map(({ group, held }) => [group, held]),
  )
  gauge('decorum_fetcher_orders_waiting', 'orders that wait for a slot', () => slots.waiting)
  gauge('decorum_fetcher_leases', 'leases held', () => stats.started - stats.ended)
  counter('decorum_fetcher_stale_total', 'leases that had ended before they were completed', () => stats.stale)
  counter('decorum_fetcher_ledger_unheard_total', 'calls of the ledger that had to be repeated', () => stats.unheard)
  counter('decorum_fetcher_broken_total', 'orders that broke off because of a bug', () => stats.broken)
  counter('decorum_fetcher_bad_jobs_total', 'jobs of the queue that could not be read', () => stats.badJobs)
  counter('decorum_fetcher_bad_orders_total', 'orders that could not be read', () => stats.badOrders)
  counter('decorum_fetcher_body_bytes_total', 'bytes of bodies, as on the wire', () => bytes)
  counter('decorum_fetcher_sink_failures_total', 'pages that could not be kept', () => sinkFailures)
  const byReason = () => [...refusals].map(([why, count]): [Record<string, string>, number] => [{ why }, count])
  counter('decorum_fetcher_refused_total', 'orders that sent nothing', byReason, ['why'])
  const byResult = () =>
    (['page', 'robots'] as const).flatMap((kind) =>
      [...exchanges[kind]].map(([what, count]): [Record<string, string>, number] => [{ kind, what }, count]),
    )
  counter('decorum_fetcher_exchanges_total', 'exchanges by result', byResult, ['kind', 'what'])
  return stats
}
