/**
 * Prometheus metrics of the fleet, read from the ledger at scrape time. Labels are partition, kind and event, and for readers crawl and
 * group, a bounded number of them: never an origin or a URL, of which there are millions. Scale on `decorum_lanes_due` and
 * `decorum_due_lag_seconds`: a deep backlog of one slow site needs one fetcher, not more. Every console reports the same values for one
 * fleet: a query takes `max by (partition …)` of them before it sums.
 */
import type { Reader } from '@decorum/ledger'
import type { Intake, PartitionView } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, OUTCOME_KINDS, systemClock } from '@decorum/protocol'
import { Counter, Gauge, type Registry } from '@decorum/runtime/prometheus'
import type { Headline } from '../pages/headline.ts'
import { readersOfOthers } from './crawl-readers.ts'
import type { LedgerViews } from './fleet-view.ts'

/** Metrics of one thing, such as a partition: name, meaning, and the value read from it. */
type Gauges<T> = [name: string, help: string, read: (of: T) => number][]

const PARTITION_GAUGES: Gauges<PartitionView> = [
  ['decorum_urls_waiting', 'URLs pending in lanes, in flight included', (part) => part.waiting],
  ['decorum_lanes', 'Lanes that have URLs or a running delay', (part) => part.lanes],
  ['decorum_lanes_due', 'Lanes that are due and not reserved', (part) => part.due],
  [
    'decorum_leases_in_flight',
    'Leases: requests in flight and orders on their way to a fetcher',
    (part) => part.inFlight,
  ],
  ['decorum_outcomes_unread', 'Outcomes that no consumer group has acknowledged', (part) => part.unread],
  ['decorum_held', '1 while nothing is granted, after a restart of Redis', (part) => (heldMs(part) > 0 ? 1 : 0)],
  ['decorum_held_seconds', 'How much longer nothing is granted', (part) => heldMs(part) / 1_000],
  ['decorum_due_lag_seconds', 'How late the oldest due lane is; 0 when none is due', (part) => lagMs(part) / 1_000],
]
const heldMs = (part: PartitionView): number => Math.max(0, (part.holdUntil ?? 0) - part.now)
const lagMs = ({ now, nextDue = now }: PartitionView): number => Math.max(0, now - nextDue)

const INTAKE_GAUGES: Gauges<Intake> = [
  ['decorum_candidates_waiting', 'URLs in the queue of candidates, estimated beyond 20 jobs', (intake) => intake.urls],
  ['decorum_candidates_jobs_waiting', 'Jobs in the queue of candidates', (intake) => intake.jobs],
  [
    'decorum_candidates_oldest_seconds',
    'Age of the oldest job in the queue of candidates',
    (intake) => (intake.oldestMs ?? 0) / 1_000,
  ],
]

/** Most groups of the default crawl with separate metrics, and as many of all other crawls: those with most to read. */
const GROUPS = 50
const LABEL_CHARS = 128
const READER_GAUGES: Gauges<Reader> = [
  ['decorum_outcomes_group_lag', 'Outcomes that the group has not been handed', (reader) => reader.lag],
  ['decorum_outcomes_group_pending', 'Outcomes handed out and not acknowledged', (reader) => reader.pending],
  ['decorum_outcomes_group_consumers', 'Consumers of the group, silent ones too', (reader) => reader.consumerCount],
  [
    'decorum_outcomes_group_oldest_seconds',
    'Age of the oldest outcome that the group has not acknowledged',
    (reader) => (reader.oldest?.ageMs ?? 0) / 1_000,
  ],
  [
    'decorum_outcomes_group_idle_seconds',
    'Since a consumer of the group gave a sign of life; +Inf: it has none',
    (reader) => (reader.idleMs ?? Number.POSITIVE_INFINITY) / 1_000,
  ],
]

const KINDS: ReadonlySet<string> = new Set(OUTCOME_KINDS)
type Counts = [name: string, n: number][]
/** Metrics from the ledger's counts: the labels beside the partition, and their values, read from the names of the counts. */
const COUNTERS: [name: string, help: string, labels: string[], read: (counts: Counts) => [...string[], number][]][] = [
  [
    'decorum_outcomes_total',
    'Outcomes written since the ledger began, by kind',
    ['kind'],
    (counts) => OUTCOME_KINDS.map((kind) => [kind, Object.fromEntries(counts)[kind] ?? 0]),
  ],
  [
    'decorum_outcomes_by_reason_total',
    'Outcomes that have a reason, written since the ledger began',
    ['kind', 'reason'],
    (counts) =>
      counts.flatMap(([name, n]) => {
        const [kind = '', reason] = name.split('/')
        return reason !== undefined && KINDS.has(kind) ? [[kind, reason, n]] : []
      }),
  ],
  [
    'decorum_ledger_events_total',
    'Other counts of the ledger: parked (URLs stored), absorbed, stale writes refused, …',
    ['event'],
    (counts) => counts.filter(([name]) => !KINDS.has(name) && !name.includes('/')),
  ],
]

/** Simultaneous scrapes share a view; if the ledger does not answer, `decorum_ledger_up` is 0 and no stale value is reported. */
export function addFleetMetrics(
  registry: Registry,
  ledger: Pick<LedgerViews, 'tags' | 'viewPartition' | 'readers' | 'crawls' | 'intake'>,
  judge: () => Promise<Headline>,
): Registry {
  const ofPartitions = <T>(read: (partition: number) => Promise<T>) =>
    oncePerTick(() => Promise.allSettled(ledger.tags.map((_, partition) => read(partition))))
  const views = ofPartitions((partition) => ledger.viewPartition(partition))
  const intakes = ofPartitions((partition) => ledger.intake(partition))
  const readers = oncePerTick(async () => {
    const [own, crawls] = await Promise.all([
      ledger.readers(DEFAULT_CRAWL).catch(() => []),
      ledger.crawls().catch(() => []),
    ])
    return [...own.slice(0, GROUPS), ...(await readersOfOthers(ledger, crawls)).slice(0, GROUPS)]
  })

  /** @param read  called at each scrape: returns rows of label values, each ending with the value of the metric */
  const add = (
    Metric: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    labelNames: string[],
    read: () => Promise<[...string[], number][]>,
  ): void => {
    new Metric({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset()
        for (const row of await read())
          this.inc(Object.fromEntries(labelNames.map((label, n) => [label, row[n]])), row.at(-1) as number)
      },
    })
  }

  add(Gauge, 'decorum_ledger_up', '1 when the ledger answers for this partition', ['partition'], async () =>
    (await views()).map(({ status }, partition) => [String(partition), status === 'fulfilled' ? 1 : 0]),
  )
  for (const [name, help, read] of PARTITION_GAUGES)
    add(Gauge, name, help, ['partition'], async () =>
      seen(await views()).map(([partition, view]) => [partition, read(view)]),
    )
  for (const [name, help, read] of INTAKE_GAUGES)
    add(Gauge, name, help, ['partition'], async () =>
      seen(await intakes()).map(([partition, one]) => [partition, read(one)]),
    )
  for (const [name, help, read] of READER_GAUGES)
    add(Gauge, name, help, ['crawl', 'group'], async () =>
      (await readers()).map((reader) => [reader.crawl, reader.group.slice(0, LABEL_CHARS), read(reader)]),
    )
  for (const [name, help, labels, read] of COUNTERS)
    add(Counter, name, help, ['partition', ...labels], async () =>
      seen(await views()).flatMap(([partition, { counts }]) =>
        read(Object.entries(counts)).map((row): [...string[], number] => [partition, ...row]),
      ),
    )
  const trouble = '1 by the code of what the first page of the console calls trouble; no value: there is none'
  add(Gauge, 'decorum_trouble', trouble, ['code'], async () => {
    const { tone, code } = await judge()
    return tone === 'trouble' ? [[code, 1]] : []
  })
  return registry
}

const seen = <T>(answers: PromiseSettledResult<T>[]): [partition: string, answer: T][] =>
  answers.flatMap((one, partition) => (one.status === 'fulfilled' ? [[String(partition), one.value]] : []))

/** The collectors of one scrape start in the same tick: they share one answer. */
function oncePerTick<T>(start: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  return () => {
    if (shared === undefined) {
      shared = start()
      systemClock.soon(() => {
        shared = undefined
      })
    }
    return shared
  }
}
