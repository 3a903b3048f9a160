/** The inside of a supervised process: it sends heartbeats and its metrics, stops on request, and ends with its supervisor. */

import { systemClock } from '@decorum/protocol/time'
import { ownEnvironment } from './early-process.ts'
import { BEAT_EVERY_MS, startWatchdog } from './heartbeat.ts'
import { giveMemoryBack } from './idle-memory.ts'
import type { Registry } from './prometheus.ts'

/** The work of one process, with or without a supervisor. */
export type Role = {
  registry: Registry
  /** whether Redis answers, and the process was not stopped */
  isReady(): boolean
  /** Starts nothing new, finishes work that has begun, and closes everything. */
  stop(): Promise<void>
}

export type MetricsJson = Awaited<ReturnType<Registry['getMetricsAsJSON']>>
export type ToChild = { kind: 'stop' } | { kind: 'metrics' }
export type FromChild =
  | { kind: 'beat'; ready: boolean }
  | { kind: 'working' }
  | { kind: 'failed'; name: string; message: string; code: string | undefined }
  | { kind: 'metrics'; metrics: MetricsJson }

const send = (message: FromChild): void => {
  if (process.connected) process.send?.(message, undefined, {}, () => {}) // 'disconnect' reports an ended supervisor
}

/** Runs a role in a process that `supervise` has started. Returns only after the role works or has failed. */
export async function runSupervised(start: (env: NodeJS.ProcessEnv) => Promise<Role>): Promise<void> {
  // Without a supervisor nothing would kill this process if it froze, so it ends at once, and its leases expire.
  process.once('disconnect', () => process.exit(1))
  if (!process.connected) process.exit(1) // the supervisor ended while the modules of this process were loaded
  // Ctrl-C in a terminal reaches the whole process group; only the supervisor reacts to it.
  process.on('SIGINT', () => {})
  const env = await ownEnvironment()
  try {
    const role = await start(env)
    const stop = async (): Promise<void> => {
      await role.stop()
      process.exit(0)
    }
    process.once('SIGTERM', () => void stop())
    process.on('message', (message: ToChild) => {
      if (message.kind === 'stop') void stop()
      else void role.registry.getMetricsAsJSON().then((metrics) => send({ kind: 'metrics', metrics }))
    })
    const turned = startWatchdog()
    const beat = (): void => {
      turned()
      send({ kind: 'beat', ready: role.isReady() })
    }
    systemClock.interval(beat, BEAT_EVERY_MS)
    beat()
    send({ kind: 'working' })
    giveMemoryBack()
  } catch (error) {
    const { name, message, stack, code } = error as NodeJS.ErrnoException
    // An error with a code has a message for people; any other is a fault of the program, and its stack is needed.
    send({ kind: 'failed', name, message: code === undefined ? (stack ?? message) : message, code })
    systemClock.timeout(() => process.exit(1), 100) // time for the message to leave
  }
}
