/** Completes the settings of a command with those of its fleet: the fleet decides what the environment leaves open. */
import { FLEET_SETTINGS } from '@decorum/config'
import { agree, connectForConfig, readCurrent, write } from '@decorum/config/fleet-config'
import type { RunningRedis } from './local-redis/index.ts'
import { knownRedis } from './running-redis.ts'
import { type CliSettings, readCliSettings } from './settings.ts'
import { whoAmI } from './who.ts'

type Env = NodeJS.ProcessEnv

/**
 * Returns the environment with the fleet's settings if a fleet is known and its Redis answers, else the environment alone.
 * Writes nothing.
 * @throws SettingsError for a setting that contradicts the fleet's
 */
export async function agreedEnv(env: Env): Promise<Env> {
  const url = await knownRedis(env)
  const redis = url && (await connectForConfig(url).catch(() => undefined)) // the command reports the cause itself
  if (!redis) return env
  try {
    return (await agree(redis, { env, reads: [], by: '' })).env
  } finally {
    redis.disconnect()
  }
}

/** The settings of this process in that environment. @throws SettingsError */
export const agreedSettings = async (): Promise<CliSettings> => readCliSettings(await agreedEnv(process.env))

/**
 * The same for a command that starts role processes: it also decides, for all of them, the settings that are still undecided.
 * @param defaults  defaults of this command, used in place of the usual ones for settings that it decides
 * @throws SettingsError for a setting that contradicts the fleet's
 */
export async function decidedEnv(env: Env, redis: RunningRedis, defaults: Env = {}): Promise<Env> {
  const link = await connectForConfig(redis.url)
  try {
    const isWholeFleet = redis.kind === 'embedded'
    const agreed = await agree(link, { env, defaults, reads: FLEET_SETTINGS, by: whoAmI(), isWholeFleet })
    const room = Number(defaults.LANE_LIMIT ?? 0)
    const isTooSmall = redis.kind === 'joined' && !env.LANE_LIMIT && Number(agreed.env.LANE_LIMIT) < room
    const current = isTooSmall ? await readCurrent(link) : undefined
    if (current === undefined) return agreed.env
    const values = { ...current.values, LANE_LIMIT: room }
    await write(link, current.version, { ...current, values, by: whoAmI(), reason: 'a whole list may be of one site' })
    return { ...agreed.env, LANE_LIMIT: String(room) }
  } finally {
    link.disconnect()
  }
}
