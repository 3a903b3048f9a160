/** How a role process starts: agreed with the fleet's document first, its settings read second, and then it follows. */

import { hostname } from 'node:os'
import { fleetSettingsOf, type Role, readSettings, SettingsError, schemaOf } from '@decorum/config'
import type { RedisLink } from '@decorum/ledger'
import { agree, connectForConfig, type Env } from './agree.ts'
import { type Following, type FollowOptions, follow } from './follow.ts'
import type { Version } from './store.ts'

export type Joined<Config> = {
  config: Config
  document: Version
  /** applies what is live from now on; until then, and without it, the connection is to be closed by `leave` */
  follow(
    options: Omit<FollowOptions, 'redis' | 'document' | 'env' | 'reads' | 'apply'> & {
      apply(config: Config, document: Version): void | Promise<void>
    },
  ): Following
  leave(): void
}

/**
 * @param read  settings of the role from an environment; throws SettingsError
 * @throws SettingsError for wrong settings and for those that contradict the document · LedgerUnavailableError and
 *         LedgerUnfitError as `openLedger` does
 */
async function joinFleetConfig<Config>(
  role: Exclude<Role, 'command'>,
  env: Env,
  read: (env: Env) => Config,
): Promise<Joined<Config>> {
  const { REDIS_URL } = readSettings(schemaOf(role), env) as { REDIS_URL: string }
  let redis: RedisLink
  try {
    redis = await connectForConfig(REDIS_URL)
  } catch (error) {
    read(env) // wrong settings are reported first
    throw error
  }
  try {
    const reads = fleetSettingsOf(role)
    const by = `${role} on ${hostname()}`
    const { env: agreed, document } = await agree(redis, { env, reads, by })
    if (document === undefined) throw new SettingsError('the configuration could not be agreed on')
    return {
      config: read(agreed),
      document,
      follow: ({ apply, ...options }) =>
        follow({ ...options, redis, document, env, reads, apply: (next, version) => apply(read(next), version) }),
      leave: () => redis.disconnect(),
    }
  } catch (error) {
    redis.disconnect()
    throw error
  }
}

/**
 * Joins, and starts what goes by the document. When the start fails, the connection for the configuration ends with it.
 * @throws what `joinFleetConfig` and `start` do
 */
export async function startJoined<Config, Started>(
  role: Exclude<Role, 'command'>,
  env: Env,
  read: (env: Env) => Config,
  start: (joined: Joined<Config>) => Promise<Started>,
): Promise<Started> {
  const joined = await joinFleetConfig(role, env, read)
  try {
    return await start(joined)
  } catch (error) {
    joined.leave()
    throw error
  }
}
