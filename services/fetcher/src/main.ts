/** The fetcher, the only part of Decorum that touches the outside: a parent and its fetching processes. */
import { printableLog } from '@decorum/protocol'
import { openHealthServer, type RunningService } from '@decorum/runtime'
import { type Logger, pino } from 'pino'
import { type Config, readConfig } from './config.ts'
import { startFetching } from './process/fetching.ts'
import { supervise } from './process/supervisor.ts'

/**
 * Starts the fetching processes under this one, or, with FETCH_PROCESSES=0, fetches in this process itself, without a
 * supervisor (tests; containers whose own supervisor kills what does not answer /livez).
 * @throws SettingsError for wrong settings, LedgerUnfitError or LedgerUnavailableError when Redis will not do
 */
export async function main(env: Record<string, string | undefined> = process.env): Promise<RunningService> {
  const config = readConfig(env)
  const log = pino({ ...printableLog, level: config.LOG_LEVEL, base: { role: 'fetcher', pid: process.pid } })
  const fetching = config.FETCH_PROCESSES === 0 ? await startFetching(config, log) : await supervise(config, env, log)
  const door = await openHealthServer({
    port: config.PORT,
    host: config.HOST,
    registry: fetching.registry,
    ready: () => fetching.isReady(),
  }).catch(async (error: unknown) => {
    await fetching.stop()
    throw error
  })
  sayReady(config, door.port, log)
  return {
    port: door.port,
    async stop() {
      await fetching.stop()
      await door.close()
      log.info('stopped')
    },
  }
}

function sayReady(
  { FETCH_CONCURRENCY, FETCH_PROCESSES, DECORUM_PARTITIONS, agents, guard }: Config,
  port: number,
  log: Logger,
): void {
  const names = agents.list.map(({ name }) => name)
  const said = {
    port,
    slots: FETCH_CONCURRENCY,
    processes: FETCH_PROCESSES,
    partitions: DECORUM_PARTITIONS,
    agents: names,
    opened: guard.opened,
  }
  log.info(said, 'ready')
  if (guard.opened.length > 0) log.warn({ opened: guard.opened }, 'these addresses are exempt from the address guard')
  if (!agents.list.every(({ hasContact }) => hasContact))
    log.warn('no contact is set (DECORUM_CONTACT): only opened addresses are visited')
}
