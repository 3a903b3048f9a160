/** A fetcher as a process: joins the fleet, runs its fetching processes, reports its health, and serves the pages that it keeps. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Joined, startJoined } from '@decorum/config/fleet-config'
import { isContentPath } from '@decorum/content/reference'
import { openHealthServer, type Role, type RunningService, roleLog } from '@decorum/runtime'
import type { EarlyProcess, Env } from '@decorum/runtime/early-process'
import type { Logger } from 'pino'
import { type Config, keepsPages, readConfig } from './config.ts'
import { superviseFetching } from './process/processes.ts'

/** @param early  the first fetching process, if it has been started already */
export const startFetcher = (env: Env, early?: EarlyProcess): Promise<RunningService> =>
  startJoined('fetcher', env, readConfig, (joined) => start(joined, env, early))

async function start(joined: Joined<Config>, env: Env, early?: EarlyProcess): Promise<RunningService> {
  const { config } = joined
  const log = roleLog(config.LOG_LEVEL, { role: 'fetcher', pid: process.pid })
  const fetching = await startRole(joined, env, log, early)
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

/** Each fetching process, also a restarted one, joins the fleet and follows its configuration independently. */
async function startRole(joined: Joined<Config>, env: Env, log: Logger, early?: EarlyProcess): Promise<Role> {
  if (joined.config.FETCH_PROCESSES === 0) {
    early?.child.kill('SIGKILL')
    // Imported late: a supervisor that does not fetch need not load the modules for fetching.
    return (await import('./process/fetching.ts')).startFetching(joined, log)
  }
  const fetching = await superviseFetching(joined.config, env, log, early)
  joined.leave()
  return fetching
}

/** Answers GET /v1/content: the pages that this fetcher and its processes keep. The reader's modules are loaded by the first request. */
function contentOf({ ARCHIVE_DIR, crawls, CONTENT_TOKEN }: Config) {
  const open = async () => {
    const { archiveFolders, contentServer } = await import('@decorum/content/server')
    return contentServer({ folders: () => archiveFolders(ARCHIVE_DIR, crawls), token: CONTENT_TOKEN })
  }
  let server: ReturnType<typeof open> | undefined
  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (!isContentPath(request.url)) return false
    server ??= open()
    void server.then((serve) => serve(request, response))
    return true
  }
}

function logReady(config: Config, port: number, log: Logger): void {
  const { FETCH_CONCURRENCY, FETCH_PROCESSES, DECORUM_PARTITIONS, PAGE_SINK, agents, guard } = config
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
  if (PAGE_SINK !== 'none' && !keepsPages(config)) log.warn(NO_FOLDER)
}

const NO_FOLDER =
  'this fetcher keeps no pages: set ARCHIVE_DIR to a folder for them, or PAGE_SINK=none for the whole fleet'
