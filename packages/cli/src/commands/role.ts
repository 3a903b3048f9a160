/** `decorum gateway|fetcher|console|permits|proxy`: runs one role in this process, until a signal or until its parent has ended. */
import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningService } from '@decorum/runtime'
import { ownEnvironment } from '@decorum/runtime/early-process'
import { giveMemoryBack } from '@decorum/runtime/idle-memory'
import { DONE, type ExitCode, FAILED } from '../exit.ts'
import type { StartedLine } from '../role-process.ts'
import type { Role } from '../roles.ts'

/** Time to complete leases and to close connections; a fetcher also waits for requests in flight. */
const CLOSE_MS = 10_000
/** How long a stop waits for a start in progress, which may itself be waiting for Redis. */
const START_GRACE_MS = 2_000

/**
 * Resolves when the service has drained and stopped. A second signal ends it at once: leases in flight then expire, as after a
 * crash.
 * @throws SettingsError when its settings are wrong, and any error of its start
 */
export async function runRole(role: Role): Promise<ExitCode> {
  const stopRequested = Promise.withResolvers<void>()
  let isStopping = false
  let signals = 0
  const requestStop = () => {
    isStopping = true
    stopRequested.resolve()
  }
  const onSignal = () => {
    if (++signals > 1) process.exit(FAILED)
    requestStop()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal)
  // The parent started this process with an IPC channel: when the channel closes, the parent has ended, and this process ends too.
  // Without a channel `connected` is undefined; false means that the parent ended while this process was loading its modules.
  if (process.connected === false) return FAILED
  process.once('disconnect', requestStop)

  const starting = start(role, environment()).catch((error: unknown) => {
    if (!isStopping) throw error
    return undefined // no error while stopping: nothing has begun, and Ctrl-C also reached the process that was being started
  })
  const givenUp = stopRequested.promise.then(() => sleep(START_GRACE_MS, undefined, { ref: false }))
  const service = await Promise.race([starting, givenUp])
  if (service === undefined) {
    starting.then((late) => late?.stop()).catch(() => undefined) // this process ends whether or not that succeeds
    return DONE
  }
  flushCompileCache() // flush now: a killed role flushes nothing
  if (process.connected) {
    // at any LOG_LEVEL
    process.stdout.write(`${JSON.stringify({ started: { port: service.port } } satisfies StartedLine)}\n`)
  }
  giveMemoryBack()
  await stopRequested.promise
  // Redis may have ended, with the parent or before: stopping must still finish
  setTimeout(() => process.exit(FAILED), CLOSE_MS + (service.drainMs ?? 0)).unref()
  await service.stop()
  if (process.connected) process.disconnect() // an open channel would keep this process alive
  return DONE
}

/** The role's environment: from its parent, and, unless the parent is a command that starts a fleet, from this user's running fleet. */
async function environment(): Promise<NodeJS.ProcessEnv> {
  const env = await ownEnvironment()
  if (env.DECORUM_CRAWLS === undefined) {
    const { joinFleet } = await import('../running-redis.ts') // imported late: modules imported above are compiled at each start
    Object.assign(env, await joinFleet(env)) // changes process.env, which the process that a fetcher starts inherits
  }
  return env
}

/** Loads the modules of the role while its environment is not known yet. */
async function start(role: Role, env: Promise<NodeJS.ProcessEnv>): Promise<RunningService> {
  env.catch(() => undefined) // awaited below
  switch (role) {
    case 'gateway':
      return (await import('@decorum/gateway')).main(await env)
    case 'fetcher':
      return (await import('@decorum/fetcher')).main(env)
    case 'console':
      return (await import('@decorum/console')).main(await env)
    case 'permits':
      // Services do not import each other, so the sink for the pages of orders is passed in.
      return (await import('@decorum/permits')).main(await env, async (which, options) =>
        (await import('@decorum/fetcher/announced-pages')).openAnnouncedPages(which, options),
      )
    case 'proxy':
      return (await import('@decorum/proxy')).main(await env)
    default:
      return role satisfies never
  }
}
