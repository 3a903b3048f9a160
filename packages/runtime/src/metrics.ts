/** Metrics whose values are read when Prometheus asks for them. */
import { Counter, Gauge, type Registry } from 'prom-client'

/** A value that rises and falls. */
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

/** A sum since the start of the process; or several, each with the value of one label. */
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
