/** Completes the settings of a command with those of its fleet: the fleet decides what the environment leaves open. */
import { environmentOf, FLEET_SETTINGS, readingSettings, valuesOfEnvironment } from '@decorum/config'
import { agree, connectForConfig, readCurrent } from '@decorum/config/fleet-config'
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

/** The fleet's settings that an environment gives, as text; agents as JSON. @throws SettingsError */
export const givenSettings = (env: Env): Record<string, string> =>
  environmentOf(
    readingSettings(() => valuesOfEnvironment(env)),
    {},
  ) as Record<string, string>

/** The settings of this process, completed with those of its fleet. @throws SettingsError */
export const agreedSettings = async (env: Env = process.env): Promise<CliSettings> =>
  readCliSettings(await agreedEnv(env))

/** The settings of a command that starts a fleet: completed only if REDIS_URL is given. @throws SettingsError */
export const settingsToStart = async (): Promise<CliSettings> =>
  process.env.REDIS_URL?.trim() ? agreedSettings() : readCliSettings(process.env)

/** A whole list may belong to one site: 10 million URLs take about 1 GB of Redis. */
const DEFAULTS = { LANE_LIMIT: '10000000' }

/**
 * The same for a command that starts role processes: if its Redis has no configuration yet, it also decides every setting, for all of
 * them; a fleet that is resumed keeps those that its environment leaves out. A configuration that another command has made is only read.
 * @throws SettingsError for a setting that contradicts the fleet's
 */
export async function decidedEnv(env: Env, redis: RunningRedis, isResumed: boolean): Promise<Env> {
  const link = await connectForConfig(redis.url)
  try {
    const wholeFleet = redis.kind !== 'embedded' ? undefined : isResumed ? 'resumed' : 'new'
    const decides = wholeFleet !== undefined || (await readCurrent(link)) === undefined
    const reads = decides ? FLEET_SETTINGS : []
    return (await agree(link, { env, defaults: DEFAULTS, reads, by: whoAmI(), wholeFleet })).env
  } finally {
    link.disconnect()
  }
}
