/** The fetcher, the only part of Decorum that sends requests to sites: a supervisor and its fetching processes. Start at orders/carry-out.ts. */
import type { RunningService } from '@decorum/runtime'
import type { Env } from '@decorum/runtime/early-process'
import { forkFetching } from './process/fork.ts'

/**
 * Starts the fetching processes under this one. With FETCH_PROCESSES=0 this process fetches itself, without a supervisor
 * (tests; containers whose own supervisor kills a process that does not answer /livez).
 * @param env  may arrive later; modules that need no setting are loaded meanwhile
 * @throws SettingsError for wrong settings, LedgerUnfitError or LedgerUnavailableError when Redis cannot be used
 */
export async function main(env: Env | Promise<Env> = process.env): Promise<RunningService> {
  // The fetching process takes longest to load. It starts before this process has loaded its modules, and gets its settings later.
  const { FETCH_PROCESSES } = env instanceof Promise ? process.env : env
  const early = FETCH_PROCESSES === '0' ? undefined : forkFetching()
  try {
    const { startFetcher } = await import('./fetcher.ts')
    return await startFetcher(await env, early)
  } catch (error) {
    early?.child.kill('SIGKILL')
    throw error
  }
}
