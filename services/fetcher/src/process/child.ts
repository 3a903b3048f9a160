/** One fetching process under its parent: beats twice a second, stops when told, and does not outlive the channel. */
import { printableLog } from '@decorum/protocol'
import { pino } from 'pino'
import type { Registry } from 'prom-client'
import { readConfig } from '../config.ts'
import { BEAT_EVERY_MS } from '../limits.ts'
import { startFetching } from './fetching.ts'
import { startWatchdog } from './watchdog.ts'

export type MetricsJson = Awaited<ReturnType<Registry['getMetricsAsJSON']>>
export type ToChild = { kind: 'stop' } | { kind: 'metrics' }
export type FromChild =
  | { kind: 'beat'; ready: boolean }
  | { kind: 'working' }
  | { kind: 'failed'; name: string; message: string }
  | { kind: 'metrics'; metrics: MetricsJson }

const say = (word: FromChild): void => {
  if (process.connected) process.send?.(word, undefined, {}, () => {}) // a parent that is gone is told by 'disconnect'
}

// Nobody would kill an orphan that freezes: it ends at once, as if it had been killed, and its leases by themselves.
process.once('disconnect', () => process.exit(1))
// Ctrl-C in a terminal reaches the whole group; the parent decides.
process.on('SIGINT', () => {})

try {
  const config = readConfig(process.env)
  const log = pino({ ...printableLog, level: config.LOG_LEVEL, base: { role: 'fetcher', pid: process.pid } })
  const fetching = await startFetching(config, log)
  const stop = async (): Promise<void> => {
    await fetching.stop()
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop())
  process.on('message', (word: ToChild) => {
    if (word.kind === 'stop') void stop()
    else void fetching.registry.getMetricsAsJSON().then((metrics) => say({ kind: 'metrics', metrics }))
  })
  const turned = startWatchdog()
  const beat = (): void => {
    turned()
    say({ kind: 'beat', ready: fetching.isReady() })
  }
  setInterval(beat, BEAT_EVERY_MS)
  beat()
  say({ kind: 'working' })
} catch (error) {
  const { name, message, stack } = error as Error
  const isForPeople = 'code' in (error as Error)
  say({ kind: 'failed', name, message: isForPeople ? message : (stack ?? message) })
  setTimeout(() => process.exit(1), 100) // the word is on its way
}
