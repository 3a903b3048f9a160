/**
 * The parent of the fetching processes. A fetcher that is frozen or whose loop is blocked still holds open requests: it
 * is killed long before its leases end, and the kernel closes its sockets. A parent that was itself asleep kills nobody.
 */
import type { Logger } from 'pino'
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Config } from '../config.ts'
import { SILENCE_MS, WATCH_EVERY_MS } from '../limits.ts'
import type { Fetching } from './fetching.ts'
import { FetchingProcess } from './fetching-process.ts'

/**
 * @param env  what this process was given; the children get the same, with their share of the slots
 * @throws     what stopped the first start of a child
 */
export async function supervise(
  config: Config,
  env: Record<string, string | undefined>,
  log: Logger,
): Promise<Fetching & { /** of the children that run */ pids(): number[] }> {
  const { FETCH_PROCESSES: count, FETCH_CONCURRENCY: slots } = config
  const children = Array.from({ length: count }, (_, at) => {
    const share = Math.floor(slots / count) + (at < slots % count ? 1 : 0) // FETCH_CONCURRENCY is the sum
    return new FetchingProcess({ ...env, FETCH_CONCURRENCY: String(share), FETCH_PROCESSES: '0' }, log)
  })
  const registry = registryOf(children)
  try {
    await Promise.all(children.map((child) => child.start()))
  } catch (error) {
    for (const child of children) child.kill()
    throw error
  }
  let lookedAt = performance.now()
  const watch = setInterval(() => {
    const now = performance.now()
    // This process did not run either: what its children said meanwhile waits to be read.
    const asleep = now - lookedAt > 4 * WATCH_EVERY_MS
    lookedAt = now
    for (const child of children) {
      if (asleep) child.forgive()
      else if (child.silentForMs() > SILENCE_MS) child.killSilent()
    }
  }, WATCH_EVERY_MS)
  return {
    registry,
    pids: () => children.flatMap(({ pid }) => (pid === undefined ? [] : [pid])),
    isReady: () => children.every((child) => child.isReady()),
    async stop() {
      // An exchange that was begun may take its whole deadline, and settling a while more. Silence still counts.
      await Promise.all(children.map((child) => child.stop(config.LEASE_MS)))
      clearInterval(watch)
    },
  }
}

/** The children's figures as one process's: sums, as Prometheus would make them. */
function registryOf(children: readonly FetchingProcess[]): Registry {
  const own = new Registry()
  collectDefaultMetrics({ register: own, prefix: 'decorum_supervisor_' })
  const read = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [own],
      collect() {
        this.set(value())
      },
    })
  read(
    'decorum_fetcher_processes',
    'fetching processes that answer',
    () => children.filter((child) => child.isReady()).length,
  )
  new Counter({
    name: 'decorum_fetcher_restarts_total',
    help: 'fetching processes that were started again',
    registers: [own],
    collect() {
      this.reset()
      this.inc(children.reduce((sum, child) => sum + child.restarts, 0))
    },
  })
  class Family extends Registry {
    override async metrics(): Promise<string> {
      const theirs = await Promise.all(children.map((child) => child.metrics()))
      const known = theirs.filter((one) => one !== undefined)
      const sum = known.length === 0 ? '' : await AggregatorRegistry.aggregate(known).metrics()
      return `${await own.metrics()}\n${sum}`
    }
  }
  return new Family()
}
