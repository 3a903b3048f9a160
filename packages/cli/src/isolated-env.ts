/** The environment of a fleet that a command runs for itself alone: the user's settings of a real fleet have no effect there. */
import { isSetting } from '@decorum/config'

export function isolatedEnv(redisUrl: string, agents: object[], settings: Record<string, string | number>) {
  const others = Object.entries(process.env).filter(([name]) => !isSetting(name))
  const own = Object.entries(settings).map(([name, value]) => [name, String(value)])
  return Object.fromEntries([...others, ...own, ['REDIS_URL', redisUrl], ['DECORUM_AGENTS', JSON.stringify(agents)]])
}
