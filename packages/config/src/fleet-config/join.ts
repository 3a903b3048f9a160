/** Starts a role process: reconciles it with the fleet's document, reads its settings, and then follows the document. */

import { hostname } from 'node:os'
import type { Ledger } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'
import { type Agents, fleetSettingsOf, type Role, readSettings, SettingsError, schemaOf } from '../index.ts'
import { agree, connectForConfig, type Env } from './agree.ts'
import { type Following, type FollowOptions, follow } from './follow.ts'
import { ratesOf } from './rates.ts'

export type Joined<Config> = {
  config: Config
  /** Sets least delays and policies in the ledger, in every partition that answers soon. To be called before anything is granted. */
  enforce(ledger: Pick<Ledger, 'setRates' | 'clock'>): Promise<void>
  /** begins to apply live changes; until then, and without this call, `leave` closes the connection */
  follow(
    options: Pick<FollowOptions, 'ledger' | 'log' | 'onUnfit'> & { apply(config: Config): void | Promise<void> },
  ): Following
  leave(): void
}

/** The longest wait for a partition that does not answer. */
const PATIENCE_MS = 2 * SECOND

/**
 * Joins, and starts what depends on the document. When the start fails, the connection for the configuration is closed.
 * @param read  settings of the role from an environment; throws SettingsError
 * @throws SettingsError for wrong settings and for those that contradict the document · LedgerUnavailableError and
 *         LedgerUnfitError as `openLedger` does · what `start` does
 */
export async function startJoined<Config extends { agents: Agents }, Started>(
  role: Exclude<Role, 'command'>,
  env: Env,
  read: (env: Env) => Config,
  start: (joined: Joined<Config>) => Promise<Started>,
): Promise<Started> {
  const { REDIS_URL } = readSettings(schemaOf(role), env) as { REDIS_URL: string }
  const redis = await connectForConfig(REDIS_URL).catch((error: unknown) => {
    read(env) // reports wrong settings first
    throw error
  })
  try {
    const reads = fleetSettingsOf(role)
    const by = `${role} on ${hostname()}`
    const { env: agreed, document } = await agree(redis, { env, reads, by })
    if (document === undefined) throw new SettingsError('the configuration could not be agreed on')
    const config = read(agreed)
    return await start({
      config,
      enforce: (ledger) =>
        Promise.race([ledger.setRates(ratesOf(document, config.agents)), ledger.clock.sleep(PATIENCE_MS)]),
      follow: ({ apply, ...options }) =>
        follow({
          ...{ ...options, redis, document, env, reads },
          async apply(next) {
            const config = read(next)
            await apply(config)
            return config.agents
          },
        }),
      leave: () => redis.disconnect(),
    })
  } catch (error) {
    redis.disconnect()
    throw error
  }
}
