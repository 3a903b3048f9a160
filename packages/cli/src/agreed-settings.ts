/** The settings of a command and those of the fleet that it is about: what the environment leaves open, the fleet has decided. */
import { hostname, userInfo } from 'node:os'
import { FLEET_SETTINGS } from '@decorum/config'
import { agree, connectForConfig, readCurrent, write } from '@decorum/config/fleet-config'
import { dataFolder, fleetAt, type RunningRedis } from '@decorum/local-redis'

type Env = NodeJS.ProcessEnv

/**
 * The environment with what the fleet has decided, where one is known and its Redis answers; the environment alone where not.
 * Nothing is written.
 * @throws SettingsError for a setting that contradicts the fleet's
 */
export async function agreedEnv(env: Env): Promise<Env> {
  const url = env.REDIS_URL?.trim() || (await fleetAt(dataFolder(env)))?.url
  if (url === undefined) return env
  const redis = await connectForConfig(url).catch(() => undefined) // the command says itself what is wrong with it
  if (redis === undefined) return env
  try {
    return (await agree(redis, { env, reads: [], by: '' })).env
  } finally {
    redis.disconnect()
  }
}

/**
 * The same for a command that starts role processes: it decides for all of them the settings that have not been decided yet.
 * @param defaults  in place of the usual ones, for what this command decides
 * @throws SettingsError for a setting that contradicts the fleet's
 */
export async function decidedEnv(env: Env, redis: RunningRedis, defaults: Env = {}): Promise<Env> {
  const link = await connectForConfig(redis.url)
  try {
    const isWholeFleet = redis.kind === 'embedded'
    const agreed = await agree(link, { env, defaults, reads: FLEET_SETTINGS, by: whoAmI(), isWholeFleet })
    const room = Number(defaults.LANE_LIMIT ?? 0)
    const isTooSmall = redis.kind === 'joined' && !env.LANE_LIMIT && Number(agreed.env.LANE_LIMIT) < room
    if (!isTooSmall) return agreed.env
    const current = await readCurrent(link)
    if (current === undefined) return agreed.env
    const values = { ...current.values, LANE_LIMIT: room }
    await write(link, current.version, { ...current, values, by: whoAmI(), reason: 'a whole list may be of one site' })
    return { ...agreed.env, LANE_LIMIT: String(room) }
  } finally {
    link.disconnect()
  }
}

/** Who is written down for a change: the user and the machine. */
export function whoAmI(): string {
  try {
    return `${userInfo().username} on ${hostname()}`
  } catch {
    return `somebody on ${hostname()}` // a container may have no name for its user
  }
}
