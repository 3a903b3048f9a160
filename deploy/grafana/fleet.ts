/**
 * The dashboard of a fleet. `node deploy/grafana/fleet.ts --write` prints it anew; a test compares, and asks running processes for every
 * metric that a query names.
 */
import { writeFileSync } from 'node:fs'
import { fleet } from '../prometheus/alerts.ts'
import { dashboard, type Row } from './panels.ts'

const quantile = (q: number, metric: string, by = ''): string =>
  `histogram_quantile(${q}, sum by (le${by}) (rate(${metric}_bucket[$__rate_interval])))`
const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`

const OUTCOMES = `sum by (kind) (${fleet('rate(decorum_outcomes_total[$__rate_interval])', 'partition, kind')})`

export const ROWS: readonly Row[] = [
  {
    title: 'Is it stalled, or polite?',
    panels: [
      {
        title: 'Trouble',
        help: 'What the first page of the console calls trouble; nothing: there is none.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: fleet('decorum_trouble', 'code'), legend: '{{code}}' }],
      },
      {
        title: 'URLs pending',
        help: 'Stored in lanes, in flight included.',
        unit: 'short',
        kind: 'stat',
        queries: [{ expr: `sum(${fleet('decorum_urls_waiting')})`, legend: 'pending' }],
      },
      {
        title: 'Lanes due',
        help: 'Lanes that a request could be sent to now. More than the slots for long: start fetchers.',
        unit: 'short',
        queries: [
          { expr: `sum(${fleet('decorum_lanes_due')})`, legend: 'due' },
          { expr: `sum(${fleet('decorum_leases_in_flight')})`, legend: 'leases' },
          { expr: 'sum(decorum_fetcher_slots)', legend: 'slots' },
        ],
      },
      {
        title: 'Outcomes a second',
        help: 'By kind.',
        unit: 'ops',
        queries: [{ expr: OUTCOMES, legend: '{{kind}}' }],
      },
    ],
  },
  {
    title: 'Punctuality',
    panels: [
      {
        title: 'Grants held',
        help: 'After a restart of Redis nothing is granted until no forgotten request can be open.',
        unit: 's',
        kind: 'stat',
        queries: [{ expr: 'max(decorum_held_seconds)', legend: 'still held' }],
      },
      {
        title: 'Lateness in the fetcher',
        help: 'From when a lane was due, or its order came, to its lease.',
        unit: 's',
        queries: [
          { expr: quantile(0.5, 'decorum_fetcher_lateness_seconds'), legend: 'half' },
          { expr: quantile(0.99, 'decorum_fetcher_lateness_seconds'), legend: '99 of 100' },
        ],
      },
      {
        title: 'Oldest due lane',
        help: 'How long the lane that is due for longest has waited.',
        unit: 's',
        queries: [{ expr: fleet('decorum_due_lag_seconds'), legend: 'partition {{partition}}' }],
      },
      {
        title: 'Time of a fetch',
        help: 'From the lease to the end of the exchange.',
        unit: 's',
        queries: [
          { expr: quantile(0.5, 'decorum_fetcher_fetch_seconds', ', kind'), legend: '{{kind}}: half' },
          { expr: quantile(0.99, 'decorum_fetcher_fetch_seconds', ', kind'), legend: '{{kind}}: 99 of 100' },
        ],
      },
    ],
  },
  {
    title: 'Exchanges',
    panels: [
      {
        title: 'Exchanges a second',
        help: 'By what came of them.',
        unit: 'ops',
        queries: [{ expr: rate('decorum_fetcher_exchanges_total', 'kind, what'), legend: '{{kind}} {{what}}' }],
      },
      {
        title: 'Orders that sent nothing',
        help: 'By reason.',
        unit: 'ops',
        queries: [{ expr: rate('decorum_fetcher_refused_total', 'why'), legend: '{{why}}' }],
      },
      {
        title: 'Bodies',
        help: 'As on the wire.',
        unit: 'Bps',
        queries: [{ expr: 'sum(rate(decorum_fetcher_body_bytes_total[$__rate_interval]))', legend: 'received' }],
      },
      {
        title: 'Slots',
        help: 'Requests that may run at once, and those that do.',
        unit: 'short',
        queries: [
          { expr: 'sum(decorum_fetcher_slots_used)', legend: 'used' },
          { expr: 'sum(decorum_fetcher_orders_waiting)', legend: 'orders waiting' },
        ],
      },
    ],
  },
  {
    title: 'Readers of outcomes',
    panels: [
      {
        title: 'Unread outcomes',
        help: 'At OUTCOMES_LIMIT the crawl pauses.',
        unit: 'short',
        queries: [{ expr: `sum(${fleet('decorum_outcomes_unread')})`, legend: 'unread' }],
      },
      {
        title: 'Lag of each group',
        help: 'Not handed out yet, and handed out without an acknowledgement.',
        unit: 'short',
        queries: [
          { expr: fleet('decorum_outcomes_group_lag', 'crawl, group'), legend: '{{crawl}} {{group}}: lag' },
          { expr: fleet('decorum_outcomes_group_pending', 'crawl, group'), legend: '{{crawl}} {{group}}: pending' },
        ],
      },
      {
        title: 'Oldest unacknowledged outcome',
        help: 'Its age.',
        unit: 's',
        queries: [
          { expr: fleet('decorum_outcomes_group_oldest_seconds', 'crawl, group'), legend: '{{crawl}} {{group}}' },
        ],
      },
    ],
  },
  {
    title: 'Crawlers of your own',
    panels: [
      {
        title: 'Through the proxy',
        help: 'Requests a second, by what became of them.',
        unit: 'ops',
        queries: [{ expr: rate('decorum_proxy_requests_total', 'kind'), legend: '{{kind}}' }],
      },
      {
        title: 'Answers to permits',
        help: 'A second, by what was answered.',
        unit: 'ops',
        queries: [{ expr: rate('decorum_permits_answers_total', 'kind'), legend: '{{kind}}' }],
      },
      {
        title: 'Waiting in line',
        help: 'Requests that the proxy holds, and callers that wait for a permit.',
        unit: 'short',
        queries: [
          { expr: 'sum(decorum_proxy_waiting)', legend: 'proxy' },
          { expr: 'sum(decorum_permits_waiting)', legend: 'permits' },
        ],
      },
    ],
  },
  {
    title: 'Ledger and processes',
    panels: [
      {
        title: 'Calls of the ledger, 99 of 100',
        help: 'By verb, the way to Redis and back included.',
        unit: 's',
        queries: [{ expr: quantile(0.99, 'decorum_ledger_call_seconds', ', verb'), legend: '{{verb}}' }],
      },
      {
        title: 'Calls that failed',
        help: 'Not answered in time, or refused.',
        unit: 'ops',
        queries: [{ expr: rate('decorum_ledger_call_failures_total', 'verb'), legend: '{{verb}}' }],
      },
      {
        title: 'Delay of the event loop, 99 of 100',
        help: 'Of each process; a fetcher shows its fetching processes.',
        unit: 's',
        queries: [{ expr: 'nodejs_eventloop_lag_p99_seconds', legend: '{{job}} {{instance}}' }],
      },
      {
        title: 'Versions',
        help: 'Of the configuration that processes go by, and how many run each version of the software.',
        unit: 'short',
        queries: [
          { expr: 'max(decorum_config_version)', legend: 'configuration, latest' },
          { expr: 'min(decorum_config_version)', legend: 'configuration, earliest' },
          { expr: 'count by (version, commit) (decorum_build_info)', legend: 'processes of {{version}} {{commit}}' },
        ],
      },
    ],
  },
]

export const dashboardText = (): string => `${JSON.stringify(dashboard('Decorum', 'decorum', ROWS), undefined, 2)}\n`

if (process.argv.includes('--write')) writeFileSync(new URL('fleet.json', import.meta.url), dashboardText())
