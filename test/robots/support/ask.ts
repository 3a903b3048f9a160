/** Short questions to a robots.txt. */
import { type Agent, type ProfileName, parseRobots, policies } from '@decorum/robots'

/** Lines of a file. */
export function lines(...text: string[]): string {
  return `${text.join('\n')}\n`
}

export type Ask = (robots: string | Uint8Array, agent: Agent, path: string) => boolean

/** "May `agent` fetch `path`?" under one profile. */
export function under(profile: ProfileName): Ask {
  return (robots, agent, path) =>
    parseRobots(robots, { policy: policies[profile] }).isAllowed(
      path.startsWith('/') ? `https://example.com${path}` : path,
      agent,
    )
}

/** Does one rule's pattern match this path? Asked by a file that disallows it alone. */
export function matches(profile: ProfileName, pattern: string, path: string): boolean {
  return !under(profile)(lines('user-agent: *', `disallow: ${pattern}`), 'anybody', path)
}
