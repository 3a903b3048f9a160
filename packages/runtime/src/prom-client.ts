/**
 * Only the metrics, the registry, and the default metrics of prom-client. Its index also loads the push gateway, and through one default
 * metric all of `@opentelemetry/api`, for exemplars, which are not used here: 30 ms of CPU and 12 MB at each start
 * (docs/decisions/0010-compiled-code-is-kept.md). The paths are internal to prom-client, so its version is pinned, like all versions.
 */
import { createRequire } from 'node:module'
import type * as PromClient from 'prom-client'

const require = createRequire(import.meta.url)
const own = (path: string): unknown => require(`prom-client/lib/${path}.js`)

export const Registry = own('registry') as typeof PromClient.Registry
export type Registry = PromClient.Registry
export const Counter = own('counter') as typeof PromClient.Counter
export type Counter<T extends string = string> = PromClient.Counter<T>
export const Gauge = own('gauge') as typeof PromClient.Gauge
export const Histogram = own('histogram') as typeof PromClient.Histogram

/** All default metrics of prom-client except processor time, which is counted below. */
const DEFAULT_METRICS = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processResources',
  'processHandles',
  'processRequests',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
]

type DefaultMetricsOptions = {
  register: Registry
  prefix?: string
  /** interval at which the event loop is sampled, ms */
  eventLoopMonitoringPrecision: number
}

/** Works like prom-client's function of this name, and includes processor time since the start of the process. */
export function collectDefaultMetrics(options: DefaultMetricsOptions): void {
  for (const name of DEFAULT_METRICS) {
    const add = own(`metrics/${name}`) as (registry: Registry, options: DefaultMetricsOptions) => void
    add(options.register, options)
  }
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
  (own('cluster') as typeof PromClient.AggregatorRegistry).aggregate(metrics)
