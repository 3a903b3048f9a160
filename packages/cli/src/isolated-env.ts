/** The environment of a fleet that a command runs for itself alone: the user's settings of a real fleet have no effect there. */
import { isSetting } from '@decorum/config'

export function isolatedEnv(env: NodeJS.ProcessEnv, settings: Record<string, string | number>): NodeJS.ProcessEnv {
  const others = Object.entries(env).filter(([name]) => !isSetting(name))
  const own = Object.entries(settings).map(([name, value]) => [name, String(value)])
  return Object.fromEntries([...others, ...own])
}
