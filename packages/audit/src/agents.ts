/**
 * Finds the agents in a log. An agent is one crawler identity; an agent and an origin make a lane. A party is a group of agents that share
 * their knowledge of robots.txt: the agents of one fleet. Other agents in the same log share nothing.
 */
import { type Policy, type ProfileName, policies, productToken } from '@decorum/robots'

export type AuditedAgent = {
  /** its name in reports */
  name: string
  /** the party whose knowledge it shares */
  party: string
  /** product tokens to match in robots.txt, most specific first */
  tokens: string[]
  policy: Policy
  /** its own least and longest delay, ms */
  minDelayMs: number
  maxDelayMs: number
  honourCrawlDelay: boolean
}

/** The agents of one fleet, as `DECORUM_AGENTS` lists them. */
export type FleetAgents = {
  list: readonly {
    name: string
    userAgent: string
    /** further product tokens, most specific first */
    fallbacks: readonly string[]
    profile: ProfileName
    minDelayMs: number
    maxDelayMs: number
    honourCrawlDelay: boolean
  }[]
}

/** Maps a User-Agent header to its agent, always the same for equal headers; undefined: the agent is not to be judged. */
export type AgentFinder = (userAgent: string) => AuditedAgent | undefined

export type AgentSettings = {
  /** the agents of one fleet; lines of other agents are left out */
  agents?: FleetAgents
  /** the agent of all lines, whatever their User-Agent */
  agent?: string
  /** the agent whose User-Agents contain this word; lines of others are left out */
  only?: string
  profile: ProfileName
  minDelayMs: number
  maxDelayMs: number
}

export function agentsOf(settings: AgentSettings): AgentFinder {
  const { agents, agent, only, profile, minDelayMs, maxDelayMs } = settings
  const policy = policies[profile]
  if (agents) {
    const byHeader = new Map(
      agents.list.map((one): [string, AuditedAgent] => [
        one.userAgent,
        {
          name: one.name,
          party: 'fleet',
          tokens: [one.name, ...one.fallbacks],
          policy: policies[one.profile],
          minDelayMs: one.minDelayMs,
          maxDelayMs: one.maxDelayMs,
          honourCrawlDelay: one.honourCrawlDelay,
        },
      ]),
    )
    return (userAgent) => byHeader.get(userAgent)
  }
  const stranger = (name: string, token: string, party = name): AuditedAgent => ({
    name,
    party,
    tokens: [token],
    policy,
    minDelayMs,
    maxDelayMs,
    honourCrawlDelay: policy.crawlDelay,
  })
  if (agent !== undefined) {
    const all = stranger(agent, agent)
    return () => all
  }
  if (only !== undefined) {
    const one = stranger(only, only)
    const isNamed = new RegExp(`(?<![\\w-])${only.replace(/[\^$.*+?()[\]{}|\\]/g, '\\$&')}(?![\\w-])`, 'i')
    return (userAgent) => (isNamed.test(userAgent) ? one : undefined)
  }
  return (userAgent) => {
    const token = tokenOf(userAgent)
    const name = userAgent || '-'
    return stranger(name, token, isWholeName(token, userAgent) ? token : name)
  }
}

/**
 * The product token of a User-Agent header. A crawler whose header begins with a browser's name has its own name after `compatible;`, or in
 * a comment that begins with that name and contains a contact: `(Applebot/0.1; +http://…)`. Otherwise it is the leading token.
 */
export function tokenOf(userAgent: string): string {
  const compatible = /(?:^|[(;\s])compatible; ?([A-Za-z_-]+)/i.exec(userAgent)?.[1]
  if (compatible !== undefined) return compatible.toLowerCase()
  const leading = productToken(userAgent)
  if (leading !== 'mozilla') return leading
  return /\(([A-Za-z_-]+)(?:\/[\w.]+)?; ?\+?https?:/.exec(userAgent)?.[1]?.toLowerCase() ?? leading
}

/** Whether a product token identifies a crawler: '' and a browser's `mozilla` do not. */
export const namesCrawler = (token: string): boolean => token !== '' && token !== 'mozilla'

/**
 * Whether the product token is the crawler's whole name. Then all its User-Agents belong to one party, for example before and after a
 * contact was added. `b1` and `b2` are two crawlers, although the token of both is `b`.
 */
function isWholeName(token: string, userAgent: string): boolean {
  const end = userAgent.toLowerCase().indexOf(token) + token.length
  return namesCrawler(token) && /^(?:[/\s;)]|$)/.test(userAgent.slice(end, end + 1))
}
