/** The fetcher, the only part of Decorum that sends requests to sites: a supervisor and its fetching processes. Start at orders/carry-out.ts. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { archiveFolders, contentServer, isContentPath } from '@decorum/content/server'
import { type Joined, startJoined } from '@decorum/fleet-config'
import { openHealthServer, type Role, type RunningService, roleLog } from '@decorum/runtime'
import type { Logger } from 'pino'
import { type Config, readConfig } from './config.ts'
import { superviseFetching } from './process/processes.ts'

/**
 * Starts the fetching processes under this one. With FETCH_PROCESSES=0 this process fetches itself, without a supervisor
 * (tests; containers whose own supervisor kills a process that does not answer /livez).
 * @throws SettingsError for wrong settings, LedgerUnfitError or LedgerUnavailableError when Redis will not do
 */
export const main = (env: Record<string, string | undefined> = process.env): Promise<RunningService> =>
  startJoined('fetcher', env, readConfig, (joined) => start(joined, env))

async function start(joined: Joined<Config>, env: Record<string, string | undefined>): Promise<RunningService> {
  const { config } = joined
  const log = roleLog(config.LOG_LEVEL, { role: 'fetcher', pid: process.pid })
  const fetching = await startRole(joined, env, log)
  const health = await openHealthServer({
    port: config.PORT,
    host: config.HOST,
    registry: fetching.registry,
    ready: () => fetching.isReady(),
    also: contentOf(config),
  }).catch(async (error: unknown) => {
    await fetching.stop()
    throw error
  })
  logReady(config, health.port, log)
  return {
    port: health.port,
    drainMs: config.FETCH_DEADLINE_MS,
    async stop() {
      await fetching.stop()
      await health.close()
      log.info('stopped')
    },
  }
}

/** Each fetching process joins and follows by itself, also one that is started again later. */
async function startRole(joined: Joined<Config>, env: Record<string, string | undefined>, log: Logger): Promise<Role> {
  // Only now: a supervisor that does not fetch need not load all that fetching takes.
  if (joined.config.FETCH_PROCESSES === 0) return (await import('./process/fetching.ts')).startFetching(joined, log)
  const fetching = await superviseFetching(joined.config, env, log)
  joined.leave()
  return fetching
}

/** Answers GET /v1/content: the pages that this fetcher and its processes keep. */
function contentOf({ ARCHIVE_DIR, DECORUM_CRAWLS, CONTENT_TOKEN }: Config) {
  const serve = contentServer({ folders: () => archiveFolders(ARCHIVE_DIR, DECORUM_CRAWLS), token: CONTENT_TOKEN })
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!isContentPath(request.url)) return false
    void serve(request, response)
    return true
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
