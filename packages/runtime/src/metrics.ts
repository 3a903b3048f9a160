/** Metrics that several roles have, and metrics whose values are read at each scrape by Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from './prometheus.ts'

/** Buckets from the latency of a Redis on the same machine to the deadline of a call, s. */
const CALL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/**
 * Interval at which the delay of the event loop is sampled; the reported delay is longer by this. With its default of 10 ms the library
 * used a third of an idle fleet's processor time (measured: 38 ms a second).
 */
const LOOP_SAMPLE_MS = 20

/**
 * The metrics of every process: Node's own, including the delay of the event loop, and the versions of software and configuration.
 * @param configVersion  version of the fleet's configuration that the process applies; undefined: not known yet
 */
export function processMetrics(
  registry: Registry,
  build: { version: string; commit: string },
  configVersion: () => number | undefined,
): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS })
  new Gauge({
    name: 'decorum_build_info',
    help: 'Always 1; the labels are the version of the software and the commit that it was made from',
    labelNames: ['version', 'commit'],
    aggregator: 'first',
    registers: [registry],
  }).set(build, 1)
  new Gauge({
    name: 'decorum_config_version',
    help: 'Version of the configuration of the fleet that the process goes by; of several processes the earliest',
    aggregator: 'min',
    registers: [registry],
    collect() {
      const known = configVersion()
      if (known !== undefined) this.set(known)
    },
  })
}

/** The `onCall` of `openLedger`: counts how long each verb takes, and how often Redis did not answer. */
export function ledgerMetrics(registry: Registry): (verb: string, seconds: number, isAnswered: boolean) => void {
  const seconds = new Histogram({
    name: 'decorum_ledger_call_seconds',
    help: 'How long calls of the ledger take, the way to Redis and back included',
    labelNames: ['verb'],
    buckets: CALL_SECONDS,
    registers: [registry],
  })
  const failures = new Counter({
    name: 'decorum_ledger_call_failures_total',
    help: 'Calls of the ledger that Redis did not answer in time, or refused',
    labelNames: ['verb'],
    registers: [registry],
  })
  return (verb, took, isAnswered) => {
    seconds.observe({ verb }, took)
    if (!isAnswered) failures.inc({ verb })
  }
}

/** Adds a gauge whose value is read at each scrape. */
export function gaugeOf(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

/** Adds a gauge with one label; a label is reported as long as `read` returns it. */
export function gaugesOf(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Iterable<[label: string, value: number]>,
): void {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset()
      for (const [of, value] of read()) this.set({ [label]: of }, value)
    },
  })
}

/** Adds a counter of a sum since the start of the process, or of one sum for each set of labels. */
export function counterOf(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | Iterable<[labels: Record<string, string>, count: number]>,
  labelNames: string[] = [],
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      const counts = read()
      if (typeof counts === 'number') this.inc(counts)
      else for (const [labels, count] of counts) this.inc(labels, count)
    },
  })
}
