/** The fetcher, the only part of Decorum that sends requests to sites: a supervisor and its fetching processes. Start at orders/carry-out.ts. */
import type { RunningService } from '@decorum/runtime'
import type { Env } from '@decorum/runtime/early-process'
import { forkFetching } from './process/fork.ts'

/**
 * Starts the fetching processes under this one. With FETCH_PROCESSES=0 this process fetches itself, without a supervisor
 * (tests; containers whose own supervisor kills a process that does not answer /livez).
 * @param env  may follow later; what needs no setting is loaded meanwhile
 * @throws SettingsError for wrong settings, LedgerUnfitError or LedgerUnavailableError when Redis will not do
 */
export async function main(env: Env | Promise<Env> = process.env): Promise<RunningService> {
  // What fetches takes longest to load. It begins before the modules of this process are there, and gets its settings from them.
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
