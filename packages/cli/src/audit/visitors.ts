/**
 * Who is who in a log. A visitor is one crawler identity: with an origin it makes a lane. A party is whoever shares what
 * was learnt: the agents of one fleet read one robots.txt for all; strangers in the same log know nothing of each other.
 */
import type { Agents } from '@decorum/protocol'
import { type Policy, type ProfileName, policies, productToken } from '@decorum/robots'

export type Visitor = {
  /** how reports call it */
  name: string
  /** whose knowledge it shares */
  party: string
  /** product tokens, most specific first: whose groups of a robots.txt it obeys */
  tokens: string[]
  policy: Policy
  /** least and most silence that it owes by its own word, ms */
  floorMs: number
  capMs: number
  honourCrawlDelay: boolean
}

/** User-Agent header → visitor; undefined: not one of those to be judged. */
export type Visitors = (userAgent: string) => Visitor | undefined

export type VisitorSettings = {
  /** the agents of one fleet; lines of others are left out */
  agents?: Agents
  /** all lines are this one visitor's, whatever User-Agent they bear */
  agent?: string
  profile: ProfileName
  floorMs: number
  capMs: number
}

export function visitorsOf(settings: VisitorSettings): Visitors {
  const { agents, agent, profile, floorMs, capMs } = settings
  const policy = policies[profile]
  if (agents) {
    const byHeader = new Map(
      agents.list.map((one): [string, Visitor] => [
        one.userAgent,
        {
          name: one.name,
          party: 'fleet',
          tokens: [one.name, ...one.fallbacks],
          policy: policies[one.profile],
          floorMs: one.minGapMs,
          capMs: one.maxGapMs,
          honourCrawlDelay: one.honourCrawlDelay,
        },
      ]),
    )
    return (userAgent) => byHeader.get(userAgent)
  }
  const stranger = (name: string, token: string): Visitor => ({
    name,
    party: name,
    tokens: [token],
    policy,
    floorMs,
    capMs,
    honourCrawlDelay: policy.crawlDelay,
  })
  if (agent !== undefined) {
    const all = stranger(agent, agent)
    return () => all
  }
  const known = new Map<string, Visitor>()
  return (userAgent) => {
    const visitor = known.get(userAgent) ?? stranger(userAgent || '-', tokenOf(userAgent))
    known.set(userAgent, visitor)
    return visitor
  }
}

/** `Mozilla/5.0 (compatible; name/1.0; …)` is how crawlers name themselves behind a browser's name; else the first token. */
export function tokenOf(userAgent: string): string {
  const compatible = /\(compatible; ?([A-Za-z_-]+)/.exec(userAgent)
  return compatible?.[1]?.toLowerCase() ?? productToken(userAgent)
}
