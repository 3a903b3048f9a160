/**
 * The metrics, the registry and the default metrics of Prometheus's client, without the rest. Its index also loads the push gateway and,
 * through one default metric, all of `@opentelemetry/api` for exemplars, which are not used here: 35 ms of CPU and 19 MB at each start
 * (docs/decisions/0010-compiled-code-is-kept.md). The paths are the library's own: test/runtime/unit/deep-imports.test.ts names one that has moved.
 */
import { createRequire } from 'node:module'
import type * as Client from '@prometheus-io/client'

const require = createRequire(import.meta.url)
// Literal names, so that a bundler can follow them.
export const Registry = require('@prometheus-io/client/lib/registry.js') as typeof Client.Registry
export type Registry = Client.Registry
export const Counter = require('@prometheus-io/client/lib/counter.js') as typeof Client.Counter
export type Counter<T extends string = string> = Client.Counter<T>
export const Gauge = require('@prometheus-io/client/lib/gauge.js') as typeof Client.Gauge
export const Histogram = require('@prometheus-io/client/lib/histogram.js') as typeof Client.Histogram

/**
 * The library's default metrics but two: processor time is counted below, and the utilization of the event loop would wake each process ten
 * times a second, though the loop's delay already shows it.
 */
const DEFAULT_METRICS = (): unknown[] => [
  require('@prometheus-io/client/lib/metrics/processStartTime.js'),
  require('@prometheus-io/client/lib/metrics/osMemoryHeap.js'),
  require('@prometheus-io/client/lib/metrics/processOpenFileDescriptors.js'),
  require('@prometheus-io/client/lib/metrics/processMaxFileDescriptors.js'),
  require('@prometheus-io/client/lib/metrics/eventLoopLag.js'),
  require('@prometheus-io/client/lib/metrics/processResources.js'),
  require('@prometheus-io/client/lib/metrics/processHandles.js'),
  require('@prometheus-io/client/lib/metrics/processRequests.js'),
  require('@prometheus-io/client/lib/metrics/heapSizeAndUsed.js'),
  require('@prometheus-io/client/lib/metrics/heapSpacesSizeAndUsed.js'),
  require('@prometheus-io/client/lib/metrics/version.js'),
  require('@prometheus-io/client/lib/metrics/gc.js'),
]

type DefaultMetricsOptions = {
  register: Registry
  prefix?: string
  /** interval between two samples of the event loop's delay, ms */
  eventLoopMonitoringPrecision: number
}

/** Replaces the library's function of this name; processor time is counted from the start of the process. */
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
