/**
 * The alerts of a fleet. `node deploy/prometheus/alerts.ts --write` prints alerts.yml anew; a test compares. Another test makes the fault of
 * each before a real Prometheus, with shorter times: what it passes is the only difference to what is written.
 */
import { writeFileSync } from 'node:fs'

type Alert = {
  alert: string
  expr: string
  /** how long the expression has to hold, s; absent: once is enough */
  lasts?: number
  severity: 'critical' | 'warning' | 'info'
  summary: string
}

export type AlertOptions = {
  /** how long something has to last, in seconds, as it is to be; default: as it is */
  shorten?: (seconds: number) => number
  /** the same for the spans over which rates are formed; default: as it is */
  window?: (seconds: number) => number
  /** OUTCOMES_LIMIT of the fleet; default: that of the product */
  unreadLimit?: number
}

const as = (seconds: number): number => seconds

/** Every console reports the same value of the fleet: two of them are one. */
export const fleet = (metric: string, labels = 'partition'): string => `max by (${labels}) (${metric})`
const ofGroup = (metric: string): string => fleet(metric, 'crawl, group')

export function alertsOf({ shorten = as, window = as, unreadLimit = 1_000_000 }: AlertOptions = {}): Alert[] {
  const over = (seconds: number): string => length(window(seconds))
  const after = (seconds: number): number => shorten(seconds)
  return [
    {
      alert: 'DecorumLedgerDown',
      expr: 'max by (partition) (decorum_ledger_up) == 0',
      lasts: 60,
      severity: 'critical',
      summary: 'Redis does not answer for partition {{ $labels.partition }}: nothing is fetched there',
    },
    {
      alert: 'DecorumGatewayMissing',
      expr: 'absent(up{job="gateway"} == 1)',
      lasts: 120,
      severity: 'critical',
      summary: 'No gateway answers: nothing is taken in and nothing is handed out',
    },
    {
      alert: 'DecorumFetcherMissing',
      expr: 'absent(up{job="fetcher"} == 1)',
      lasts: 120,
      severity: 'critical',
      summary: 'No fetcher answers: nothing is fetched',
    },
    {
      alert: 'DecorumHeld',
      expr: 'max(decorum_held_seconds) > 0',
      lasts: 300,
      severity: 'warning',
      summary: 'All grants are held for longer than a restart of Redis explains',
    },
    {
      alert: 'DecorumTrouble',
      expr: 'max by (code) (decorum_trouble) > 0',
      lasts: 120,
      severity: 'critical',
      summary:
        'The fleet is in trouble ({{ $labels.code }}): the first page of the console and decorum status say which, and what to do',
    },
    {
      alert: 'DecorumStalled',
      expr: `sum(${fleet('decorum_lanes_due')}) > 0 and sum(${fleet(`rate(decorum_outcomes_total[${over(600)}])`, 'partition, kind')}) == 0`,
      lasts: 600,
      severity: 'critical',
      summary: 'Lanes are due, and no URL has ended for ten minutes',
    },
    {
      alert: 'DecorumLate',
      expr: `max(decorum_due_lag_seconds) > ${after(60)}`,
      lasts: 600,
      severity: 'warning',
      summary: 'A lane has been due for more than a minute: the fleet has too few slots',
    },
    {
      alert: 'DecorumOutcomesUnread',
      expr: `${fleet('decorum_outcomes_unread')} > ${Math.floor(0.8 * unreadLimit)}`,
      lasts: 300,
      severity: 'warning',
      summary:
        '{{ $value }} outcomes are unread in partition {{ $labels.partition }}: at OUTCOMES_LIMIT the crawl pauses',
    },
    {
      alert: 'DecorumReaderSilent',
      expr: `${ofGroup('decorum_outcomes_group_idle_seconds')} > ${after(3_600)} and (${ofGroup('decorum_outcomes_group_lag')} + ${ofGroup('decorum_outcomes_group_pending')} > 0)`,
      lasts: 600,
      severity: 'warning',
      summary: 'Nobody has read as {{ $labels.group }} for an hour, and outcomes are kept for it',
    },
    {
      alert: 'DecorumLedgerSlow',
      expr: `histogram_quantile(0.99, sum by (le) (rate(decorum_ledger_call_seconds_bucket[${over(300)}]))) > 0.5`,
      lasts: 600,
      severity: 'warning',
      summary: 'One call of the ledger in a hundred takes more than half a second',
    },
    {
      alert: 'DecorumLedgerCallsFail',
      expr: `sum(rate(decorum_ledger_call_failures_total[${over(300)}])) > 0.1`,
      lasts: 300,
      severity: 'warning',
      summary: 'Calls of the ledger fail: Redis is overloaded, full or unreachable',
    },
    {
      alert: 'DecorumEventLoopBlocked',
      expr: 'nodejs_eventloop_lag_p99_seconds > 1',
      lasts: 300,
      severity: 'warning',
      summary: '{{ $labels.instance }} answers late: it has too little processor time',
    },
    {
      alert: 'DecorumConfigDrift',
      expr: 'max(decorum_config_version) - min(decorum_config_version) > 0',
      lasts: 300,
      severity: 'warning',
      summary: 'Processes of the fleet go by different configurations',
    },
    {
      alert: 'DecorumVersionsMixed',
      expr: 'count(count by (version, commit) (decorum_build_info)) > 1',
      lasts: 3600,
      severity: 'info',
      summary: 'Two builds have run side by side for an hour: a rolling restart did not end',
    },
    {
      alert: 'DecorumFetcherRestarts',
      expr: `increase(decorum_fetcher_restarts_total[${over(900)}]) > 3`,
      severity: 'warning',
      summary: 'Fetching processes of {{ $labels.instance }} keep ending',
    },
    {
      alert: 'DecorumStaleLeases',
      expr: `sum(increase(decorum_fetcher_stale_total[${over(600)}])) > 0`,
      severity: 'warning',
      summary: 'Leases ended before their exchanges were over: a fetcher stood still, or Redis was away',
    },
    {
      alert: 'DecorumPagesNotKept',
      expr: `sum(increase(decorum_fetcher_sink_failures_total[${over(600)}])) > 0`,
      severity: 'warning',
      summary: 'Pages were fetched and could not be kept',
    },
    {
      alert: 'DecorumOrdersUnreadable',
      expr: `sum(increase(decorum_fetcher_bad_orders_total[${over(600)}])) + sum(increase(decorum_fetcher_bad_jobs_total[${over(600)}])) > 0`,
      severity: 'warning',
      summary: 'Fetchers receive orders that they cannot read: gateways of another version write them',
    },
  ]
}

/** As Prometheus writes a length of time: 45s, 10m, 1h. */
const length = (seconds: number): string =>
  seconds % 3_600 === 0 ? `${seconds / 3_600}h` : seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`

export function alertsText(options: AlertOptions = {}): string {
  const { shorten = as } = options
  const rules = alertsOf(options).map(
    ({ alert, expr, lasts, severity, summary }) => `      - alert: ${alert}
        expr: '${expr}'
${lasts === undefined ? '' : `        for: ${length(shorten(lasts))}\n`}        labels:
          severity: ${severity}
        annotations:
          summary: '${summary}'
          runbook: docs/operating.md#${alert.toLowerCase()}
`,
  )
  return `# Printed by alerts.ts. What to do about each: docs/operating.md, under its name. Tested by alerts.test.yml.
groups:
  - name: decorum
    rules:
${rules.join('')}`
}

if (process.argv.includes('--write')) writeFileSync(new URL('alerts.yml', import.meta.url), alertsText())
