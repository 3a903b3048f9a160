/**
 * The supervisor of several processes of one role. A process that is frozen or whose event loop is blocked still has open requests: it is
 * killed long before its leases end, and the kernel closes its sockets.
 */
import type { Clock } from '@decorum/protocol/time'
import type { Logger } from 'pino'
import type { EarlyProcess, Env } from './early-process.ts'
import { SILENCE_MS } from './heartbeat.ts'
import { counterOf, gaugeOf } from './metrics.ts'
import { collectDefaultMetrics, Registry } from './prometheus.ts'
import type { Role } from './supervised.ts'
import { SupervisedProcess } from './supervised-process.ts'

const WATCH_EVERY_MS = 250

export type SuperviseOptions = {
  /** name of one process, for the log, e.g. `fetching process` */
  name: string
  /** path of the module that each process runs; it calls `runSupervised` */
  module: string
  /** one environment per process */
  envs: Env[]
  /** the first process, if it was already started */
  early?: EarlyProcess
  /** how long a process may take to stop */
  patienceMs: number
  /** prefix of the metrics about the processes, e.g. `decorum_fetcher` */
  metrics: string
  log: Logger
  clock: Clock
}

export type SupervisedRole = Role & { /** ids of the running processes */ pids(): number[] }

/** @throws the error that stopped the first start of a process */
export async function supervise({
  envs,
  early,
  patienceMs,
  metrics,
  ...shared
}: SuperviseOptions): Promise<SupervisedRole> {
  const children = envs.map(
    (env, at) => new SupervisedProcess({ ...shared, env, ...(at === 0 && early !== undefined ? { early } : {}) }),
  )
  const registry = registryOf(metrics, children)
  try {
    await Promise.all(children.map((child) => child.start()))
  } catch (error) {
    for (const child of children) child.kill()
    throw error
  }
  const { clock } = shared
  let lookedAt = clock.monotonic()
  const watch = clock.interval(() => {
    const now = clock.monotonic()
    // If this supervisor was suspended, messages of its children are still unread, so none of them is killed.
    const wasSuspended = now - lookedAt > 4 * WATCH_EVERY_MS
    lookedAt = now
    for (const child of children) {
      if (wasSuspended) child.forgetSilence()
      else if (child.silentForMs() > SILENCE_MS) child.killSilent()
    }
  }, WATCH_EVERY_MS)
  return {
    registry,
    pids: () => children.flatMap(({ pid }) => (pid === undefined ? [] : [pid])),
    isReady: () => children.every((child) => child.isReady()),
    async stop() {
      await Promise.all(children.map((child) => child.stop(patienceMs))) // a silent one is killed meanwhile
      clock.cancel(watch)
    },
  }
}

const SUPERVISOR = 'decorum_supervisor_'
/** A supervisor is almost idle, and more frequent sampling would be most of its work. */
const LOOP_LOOK_MS = 100
/** Gauges of the client library whose names end like counters, which Prometheus's conventions forbid. */
const MISNAMED = ['handles', 'requests', 'resources']

/** The metrics of all processes summed, as Prometheus would sum them, and those of the supervisor itself. */
function registryOf(prefix: string, children: readonly SupervisedProcess[]): Registry {
  const own = new Registry()
  collectDefaultMetrics({ register: own, prefix: SUPERVISOR, eventLoopMonitoringPrecision: LOOP_LOOK_MS })
  for (const name of MISNAMED) own.removeSingleMetric(`${SUPERVISOR}nodejs_active_${name}_total`)
  gaugeOf(own, `${prefix}_processes`, 'processes that answer', () => children.filter((one) => one.isReady()).length)
  counterOf(own, `${prefix}_restarts_total`, 'processes that were started again', () =>
    children.reduce((sum, { restarts }) => sum + restarts, 0),
  )
  class Family extends Registry {
    override async metrics(): Promise<string> {
      const answers = await Promise.all(children.map((child) => child.metrics()))
      const known = answers.filter((one) => one !== undefined)
      const sum = known.length === 0 ? '' : await Registry.aggregate(known).metrics()
      return `${await own.metrics()}\n${sum}`
    }
  }
  return new Family()
}
