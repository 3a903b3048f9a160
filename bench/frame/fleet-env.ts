/** The environment of a fleet that visits sites of the bench. */
import { isSetting } from '@decorum/config'

export type BenchFleet = {
  agent: { name: string; userAgent: string }
  delayMs: number
  /** fetch slots of each fetcher */
  slots: number
}

/** Nothing of the user's own settings, and the sites' addresses open. @param more  beside or instead of it */
export function fleetEnv({ agent, delayMs, slots }: BenchFleet, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)))
  return {
    ...own,
    DECORUM_AGENTS: JSON.stringify([agent]),
    DECORUM_ALLOW_ADDRESSES: '127.40.0.0/16',
    DEFAULT_DELAY_MS: String(delayMs),
    FETCH_CONCURRENCY: String(slots),
    LOG_LEVEL: 'warn',
    ...more,
  }
}
