/**
 * Of prom-client the metrics, the registry, and the default metrics of a process. Its index also loads the push gateway, and with one default
 * metric all of `@opentelemetry/api`, for exemplars, which are not used here: 30 ms of CPU and 12 MB at each start (docs/decisions/0010-compiled-code-is-kept.md).
 * The paths are prom-client's own, so its version is pinned, as all are.
 */
import { createRequire } from 'node:module'
import type * as PromClient from 'prom-client'

const require = createRequire(import.meta.url)
// Whole names, which a bundler can follow
export const Registry = require('prom-client/lib/registry.js') as typeof PromClient.Registry
export type Registry = PromClient.Registry
export const Counter = require('prom-client/lib/counter.js') as typeof PromClient.Counter
export type Counter<T extends string = string> = PromClient.Counter<T>
export const Gauge = require('prom-client/lib/gauge.js') as typeof PromClient.Gauge
export const Histogram = require('prom-client/lib/histogram.js') as typeof PromClient.Histogram

/** All that prom-client collects by default, but for processor time, which is counted below. */
const DEFAULT_METRICS = (): unknown[] => [
  require('prom-client/lib/metrics/processStartTime.js'),
  require('prom-client/lib/metrics/osMemoryHeap.js'),
  require('prom-client/lib/metrics/processOpenFileDescriptors.js'),
  require('prom-client/lib/metrics/processMaxFileDescriptors.js'),
  require('prom-client/lib/metrics/eventLoopLag.js'),
  require('prom-client/lib/metrics/processResources.js'),
  require('prom-client/lib/metrics/processHandles.js'),
  require('prom-client/lib/metrics/processRequests.js'),
  require('prom-client/lib/metrics/heapSizeAndUsed.js'),
  require('prom-client/lib/metrics/heapSpacesSizeAndUsed.js'),
  require('prom-client/lib/metrics/version.js'),
  require('prom-client/lib/metrics/gc.js'),
]

type DefaultMetricsOptions = {
  register: Registry
  prefix?: string
  /** ms between two looks at the event loop */
  eventLoopMonitoringPrecision: number
}

/** What prom-client's function of this name does, processor time since the start of the process included. */
export function collectDefaultMetrics(options: DefaultMetricsOptions): void {
  for (const add of DEFAULT_METRICS() as ((registry: Registry, options: DefaultMetricsOptions) => void)[])
    add(options.register, options)
  const seconds = (name: string, help: string, micros: (used: NodeJS.CpuUsage) => number): void => {
    new Counter({
      name: `${options.prefix ?? ''}process_cpu_${name}`,
      help,
      registers: [options.register],
      collect() {
        this.reset()
        this.inc(micros(process.cpuUsage()) / 1e6)
      },
    })
  }
  seconds('user_seconds_total', 'Total user CPU time spent in seconds.', ({ user }) => user)
  seconds('system_seconds_total', 'Total system CPU time spent in seconds.', ({ system }) => system)
  seconds('seconds_total', 'Total user and system CPU time spent in seconds.', ({ user, system }) => user + system)
}

/** The metrics of several processes as one: `AggregatorRegistry.aggregate`, which only a supervisor needs. */
export const aggregate: typeof PromClient.AggregatorRegistry.aggregate = (metrics) =>
  (require('prom-client/lib/cluster.js') as typeof PromClient.AggregatorRegistry).aggregate(metrics)
