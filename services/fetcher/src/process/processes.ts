/** The fetching processes of one fetcher, under a supervisor that kills and restarts a silent one. */
import { SettingsError } from '@decorum/config'
import { systemClock } from '@decorum/protocol'
import { defined, type SupervisedRole, supervise } from '@decorum/runtime'
import type { EarlyProcess, Env } from '@decorum/runtime/early-process'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { CHILD } from './fork.ts'

/**
 * @param env  the environment of this process; the fetching processes get the same, each with its share of the slots
 * @param early  the first fetching process, if it has been started already
 * @throws     the error of the first start of a process
 */
export async function superviseFetching(
  { FETCH_PROCESSES: count, FETCH_CONCURRENCY: slots, LEASE_MS: patienceMs }: Config,
  env: Env,
  log: Logger,
  early?: EarlyProcess,
): Promise<SupervisedRole> {
  const envs = Array.from({ length: count }, (_, at) => {
    const share = Math.floor(slots / count) + (at < slots % count ? 1 : 0) // FETCH_CONCURRENCY is the sum
    return { ...env, FETCH_CONCURRENCY: String(share), FETCH_PROCESSES: '0' }
  })
  // Patience is the length of a lease: an exchange takes at most its deadline and the time to complete it, but never longer than its lease.
  const options = {
    name: 'fetching process',
    module: CHILD,
    envs,
    patienceMs,
    metrics: 'decorum_fetcher',
    log,
    clock: systemClock,
  }
  return supervise({ ...options, ...defined({ early }) }).catch((error: Error) => {
    throw 'code' in error && error.code === 'SETTINGS' ? new SettingsError(error.message) : error
  })
}
