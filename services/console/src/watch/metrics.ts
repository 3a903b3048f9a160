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
import type { Eyes } from './looks.ts'

type Read = (part: PartitionView) => number

const GAUGES: [name: string, help: string, read: Read][] = [
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

/** Groups with separate metrics, of the default crawl and of all others: those with most to read. */
const GROUPS = 50
const LABEL_CHARS = 128
const READER_GAUGES: [name: string, help: string, read: (reader: Reader) => number][] = [
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

/** Simultaneous scrapes share a view; if the ledger does not answer, `decorum_ledger_up` is 0 and no stale value is reported. */
export function addFleetMetrics(
  register: Registry,
  ledger: Pick<Eyes, 'tags' | 'viewPartition' | 'readers' | 'crawls' | 'intake'>,
  judge: () => Promise<Headline>,
): Registry {
  const look = oncePerTick(() => Promise.allSettled(ledger.tags.map((_, index) => ledger.viewPartition(index))))

  new Gauge({
    name: 'decorum_ledger_up',
    help: '1 when the ledger answers for this partition',
    labelNames: ['partition'],
    registers: [register],
    async collect() {
      for (const [index, view] of (await look()).entries()) {
        this.set({ partition: String(index) }, view.status === 'fulfilled' ? 1 : 0)
      }
    },
  })
  for (const [name, help, read] of GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['partition'],
      registers: [register],
      async collect() {
        this.reset()
        for (const [partition, view] of seen(await look())) this.set({ partition }, read(view))
      },
    })
  }
  new Gauge({
    name: 'decorum_trouble',
    help: '1 by the code of what the first page of the console calls trouble; no value: there is none',
    labelNames: ['code'],
    registers: [register],
    async collect() {
      this.reset()
      const { tone, code } = await judge()
      if (tone === 'trouble') this.set({ code }, 1)
    },
  })
  addCounts(register, look)
  addIntake(
    register,
    oncePerTick(() => Promise.allSettled(ledger.tags.map((_, index) => ledger.intake(index)))),
  )
  addReaders(
    register,
    oncePerTick(async () => {
      const [own, crawls] = await Promise.all([
        ledger.readers(DEFAULT_CRAWL).catch(() => []),
        ledger.crawls().catch(() => []),
      ])
      return [...own.slice(0, GROUPS), ...(await readersOfOthers(ledger, crawls)).slice(0, GROUPS)]
    }),
  )
  return register
}

type Views = PromiseSettledResult<PartitionView>[]

function addCounts(register: Registry, look: () => Promise<Views>): void {
  new Counter({
    name: 'decorum_outcomes_total',
    help: 'Outcomes written since the ledger began, by kind',
    labelNames: ['partition', 'kind'],
    registers: [register],
    async collect() {
      this.reset()
      for (const [partition, view] of seen(await look())) {
        for (const kind of OUTCOME_KINDS) this.inc({ partition, kind }, view.counts[kind] ?? 0)
      }
    },
  })
  new Counter({
    name: 'decorum_outcomes_by_reason_total',
    help: 'Outcomes that have a reason, written since the ledger began',
    labelNames: ['partition', 'kind', 'reason'],
    registers: [register],
    async collect() {
      this.reset()
      for (const [partition, view] of seen(await look())) {
        for (const [name, n] of Object.entries(view.counts)) {
          const [kind = '', reason] = name.split('/')
          if (reason !== undefined && KINDS.has(kind)) this.inc({ partition, kind, reason }, n)
        }
      }
    },
  })
  new Counter({
    name: 'decorum_ledger_events_total',
    help: 'Other counts of the ledger: parked (URLs stored), absorbed, stale writes refused, …',
    labelNames: ['partition', 'event'],
    registers: [register],
    async collect() {
      this.reset()
      for (const [partition, view] of seen(await look())) {
        for (const [event, n] of Object.entries(view.counts))
          if (!KINDS.has(event) && !event.includes('/')) this.inc({ partition, event }, n)
      }
    },
  })
}

const INTAKE_GAUGES: [name: string, help: string, read: (intake: Intake) => number][] = [
  ['decorum_candidates_waiting', 'URLs in the queue of candidates, estimated beyond 20 jobs', (intake) => intake.urls],
  ['decorum_candidates_jobs_waiting', 'Jobs in the queue of candidates', (intake) => intake.jobs],
  [
    'decorum_candidates_oldest_seconds',
    'Age of the oldest job in the queue of candidates',
    (intake) => (intake.oldestMs ?? 0) / 1_000,
  ],
]

function addIntake(register: Registry, look: () => Promise<PromiseSettledResult<Intake>[]>): void {
  for (const [name, help, read] of INTAKE_GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['partition'],
      registers: [register],
      async collect() {
        this.reset()
        for (const [partition, one] of (await look()).entries())
          if (one.status === 'fulfilled') this.set({ partition: String(partition) }, read(one.value))
      },
    })
  }
}

function addReaders(register: Registry, look: () => Promise<Reader[]>): void {
  for (const [name, help, read] of READER_GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['crawl', 'group'],
      registers: [register],
      async collect() {
        this.reset()
        for (const reader of await look())
          this.set({ crawl: reader.crawl, group: reader.group.slice(0, LABEL_CHARS) }, read(reader))
      },
    })
  }
}

function* seen(views: Views): Generator<[partition: string, view: PartitionView]> {
  for (const [index, view] of views.entries()) if (view.status === 'fulfilled') yield [String(index), view.value]
}

const heldMs = (part: PartitionView): number => Math.max(0, (part.holdUntil ?? 0) - part.now)
const lagMs = (part: PartitionView): number => (part.nextDue === undefined ? 0 : Math.max(0, part.now - part.nextDue))

/** The collectors of one scrape start in the same tick: they share one answer. */
function oncePerTick<T>(ask: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  return () => {
    if (shared === undefined) {
      shared = ask()
      systemClock.soon(() => {
        shared = undefined
      })
    }
    return shared
  }
}
