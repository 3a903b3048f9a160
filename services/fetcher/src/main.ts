/** The fetcher, the only part of Decorum that sends requests to sites: a supervisor and its fetching processes. Start at orders/carry-out.ts. */
import { printableLog } from '@decorum/protocol'
import { openHealthServer, type RunningService } from '@decorum/runtime'
import { type Logger, pino } from 'pino'
import { type Config, readConfig } from './config.ts'
import { startFetching } from './process/fetching.ts'
import { superviseFetching } from './process/processes.ts'

/**
 * Starts the fetching processes under this one. With FETCH_PROCESSES=0 this process fetches itself, without a supervisor
 * (tests; containers whose own supervisor kills a process that does not answer /livez).
 * @throws SettingsError for wrong settings, LedgerUnfitError or LedgerUnavailableError when Redis will not do
 */
export async function main(env: Record<string, string | undefined> = process.env): Promise<RunningService> {
  const config = readConfig(env)
  const log = pino({ ...printableLog, level: config.LOG_LEVEL, base: { role: 'fetcher', pid: process.pid } })
  const fetching =
    config.FETCH_PROCESSES === 0 ? await startFetching(config, log) : await superviseFetching(config, env, log)
  const health = await openHealthServer({
    port: config.PORT,
    host: config.HOST,
    registry: fetching.registry,
    ready: () => fetching.isReady(),
  }).catch(async (error: unknown) => {
    await fetching.stop()
    throw error
  })
  logReady(config, health.port, log)
  return {
    port: health.port,
    async stop() {
      await fetching.stop()
      await health.close()
      log.info('stopped')
    },
  }
}

function logReady(
  { FETCH_CONCURRENCY, FETCH_PROCESSES, DECORUM_PARTITIONS, agents, guard }: Config,
  port: number,
  log: Logger,
): void {
  const names = agents.list.map(({ name }) => name)
  const fields = {
    port,
    slots: FETCH_CONCURRENCY,
    processes: FETCH_PROCESSES,
    partitions: DECORUM_PARTITIONS,
    agents: names,
    opened: guard.opened,
  }
  log.info(fields, 'ready')
  if (guard.opened.length > 0) log.warn({ opened: guard.opened }, 'these addresses are exempt from the address guard')
  if (!agents.list.every(({ hasContact }) => hasContact))
    log.warn('no contact is set (DECORUM_CONTACT): only opened addresses are visited')
}
